package run

import "encoding/json"

// Line returns the event as a line of the log, its line feed included. For an
// event that was read from a line, it returns the same line. The bytes depend on
// the event alone, because package json sorts the keys of maps. In the commands of
// a workflow they appear only in the inputs of activities, which a replay does not
// compare.
//
//workflowcheck:ignore
func (e Event) Line() ([]byte, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	// An event made in memory may hold values that JSON does not keep: invalid
	// UTF-8, numbers of any type.
	var read Event
	if err := json.Unmarshal(b, &read); err != nil {
		return nil, err
	}
	b, err = json.Marshal(read)
	return append(b, '\n'), err
}

// ExtendChain returns the chain of a log that is one line longer: the digest of
// the previous chain and the line. The chain of an empty log is empty.
func ExtendChain(before Digest, line []byte) Digest {
	return DigestOf(append([]byte(before), line...))
}

// linkEvent extends the chain by the event. After an event that has no line the chain
// stays unknown.
func (s *Snapshot) linkEvent(e Event) {
	if s.Seq > 1 && s.Chain == "" {
		return
	}
	line, err := e.Line()
	if err != nil {
		s.Chain = ""
		return
	}
	s.Chain = ExtendChain(s.Chain, line)
}

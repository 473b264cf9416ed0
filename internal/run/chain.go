package run

import "encoding/json"

// Line is the event as a line of the log, its line feed included. The line of
// an event that was read from a line is that line again. Its bytes depend on
// the event alone: package json sorts the keys of maps. They enter no command
// of a workflow but the inputs of activities, which a replay does not compare.
//
//workflowcheck:ignore
func (e Event) Line() ([]byte, error) {
	b, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	// What was made in memory may hold what JSON does not: bytes that are no
	// UTF-8, numbers of any type.
	var read Event
	if err := json.Unmarshal(b, &read); err != nil {
		return nil, err
	}
	b, err = json.Marshal(read)
	return append(b, '\n'), err
}

// ExtendChain is the chain of a log that is one line longer: the digest of the chain
// before and the line. The chain of an empty log is empty.
func ExtendChain(before Digest, line []byte) Digest {
	return DigestOf(append([]byte(before), line...))
}

// linkEvent carries the chain on. A snapshot of an older version has none, and gets none.
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

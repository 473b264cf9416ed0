package dispatch

// Message is a request on its way to its target, with the sender who asked for it.
type Message struct {
	// ID identifies the dispatch. Two messages with one id are the same message.
	ID      string  `json:"id"`
	Request Request `json:"request"`
	Sender  Sender  `json:"sender"`
}

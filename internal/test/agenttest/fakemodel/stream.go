package fakemodel

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"
)

// wire is the interface of one API.
type wire interface {
	decode(body []byte) (Request, error)
	plain(q Request, r Reply) any
	stream(s *stream, q Request, r Reply)
}

type object = map[string]any

// stream is a stream of server-sent events. It is over after a hang, a cut, or a disconnect of the
// peer, and sends nothing more.
type stream struct {
	w     http.ResponseWriter
	r     *http.Request
	reply Reply
	over  bool
}

func newStream(w http.ResponseWriter, r *http.Request, reply Reply) *stream {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return &stream{w: w, r: r, reply: reply}
}

// send sends an event. Only some APIs give events a name.
func (s *stream) send(name string, data any) {
	if s.over {
		return
	}
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	b, err := json.Marshal(data)
	if err != nil {
		panic(err) // the wires send only values that marshal
	}
	fmt.Fprintf(s.w, "data: %s\n\n", b)
	s.flush()
}

// done sends the mark by which some APIs end a stream.
func (s *stream) done() {
	if !s.over {
		fmt.Fprint(s.w, "data: [DONE]\n\n")
		s.flush()
	}
}

func (s *stream) flush() {
	if err := http.NewResponseController(s.w).Flush(); err != nil || s.r.Context().Err() != nil {
		s.over = true
	}
}

// opened blocks a stream whose fault is a hang.
func (s *stream) opened() {
	if s.reply.Fault != nil && s.reply.Fault.Hang {
		<-s.r.Context().Done()
		s.over = true
	}
}

// speak sends the pieces of the text at their pace. It cuts off a stream with a drop after the
// first piece.
func (s *stream) speak(send func(piece string)) {
	for _, piece := range s.reply.Pieces {
		if send(piece); s.over {
			return
		}
		s.cut()
		if s.reply.Pace > 0 && !s.over {
			s.wait()
		}
	}
}

func (s *stream) wait() {
	select {
	case <-time.After(s.reply.Pace):
	case <-s.r.Context().Done():
		s.over = true
	}
}

// cut closes the connection of a stream whose fault is a drop, as a dying server does.
func (s *stream) cut() {
	if s.over || s.reply.Fault == nil || !s.reply.Fault.Drop {
		return
	}
	s.over = true
	conn, _, err := http.NewResponseController(s.w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// Package peertest asks the control socket of a session what other programs ask, and Ratchet itself does not.
package peertest

import (
	"context"
	"encoding/json"
	"errors"
	"net"

	"github.com/ratchet-dev/ratchet/internal/controlsocket"
)

// Info asks the session at a socket about itself.
func Info(ctx context.Context, socket string) (info controlsocket.Info, err error) {
	err = ask(ctx, socket, "get_info", &info)
	return info, err
}

// LastMessage returns the assistant's last message, nil when there is none yet.
func LastMessage(ctx context.Context, socket string) (*controlsocket.LastMessage, error) {
	var said struct{ Message *controlsocket.LastMessage }
	err := ask(ctx, socket, "get_message", &said)
	return said.Message, err
}

// Abort ends the session's turn.
func Abort(ctx context.Context, socket string) error { return ask(ctx, socket, "abort", new(any)) }

func ask(ctx context.Context, socket, command string, data any) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := json.NewEncoder(conn).Encode(map[string]string{"type": command}); err != nil {
		return err
	}
	answer := struct {
		Success bool
		Data    any
		Error   string
	}{Data: data}
	if err := json.NewDecoder(conn).Decode(&answer); err != nil {
		return err
	}
	if !answer.Success {
		return errors.New(answer.Error)
	}
	return nil
}

package main

import (
	"fmt"
	"testing"
	"time"
)

// A code opens once, also after others have ended and where the clock is set back.
func TestALoginCodeIsUsedOnce(t *testing.T) {
	u := newUIDoor(newDoor("token", "127.0.0.1:7233", false), 8233, nil)
	end := time.Now().Add(time.Minute)
	code := func(nonce string, end time.Time) string {
		seconds := fmt.Sprint(end.Unix())
		return nonce + "." + seconds + "." + u.mac(nonce, seconds, u.start, loginLabel)
	}
	first, second := code("a", end), code("b", end.Add(time.Hour))
	if err := u.redeem(first, end.Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if err := u.redeem(second, end.Add(2*time.Second)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{first, second} {
		if err := u.redeem(c, end.Add(-time.Second)); err != errUsed {
			t.Errorf("used again: %v", err)
		}
	}
}

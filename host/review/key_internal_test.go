package review

import (
	"testing"
	"time"
)

func TestASessionEnds(t *testing.T) {
	k, now := NewKey(), time.Now()
	value := k.sessionOf("kim", 7, now.Add(time.Hour))
	if _, name, ok := k.readSession(value, 7, now); !ok || name != "kim" {
		t.Errorf("at once: %q, %v", name, ok)
	}
	if _, _, ok := k.readSession(value, 7, now.Add(2*time.Hour)); ok {
		t.Error("a session is valid after its end")
	}
	if _, _, ok := k.readSession(value, 8, now); ok {
		t.Error("a session is valid for another user")
	}
	if _, _, ok := k.readSession(k.loginCode("kim", now.Add(time.Hour)), 7, now); ok {
		t.Error("a login code is a session")
	}
	if _, _, err := k.readLogin(value, now); err == nil {
		t.Error("a session is a login code")
	}
}

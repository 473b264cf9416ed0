package mailbox

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/citizen/document"
	"github.com/ratchet-dev/ratchet/internal/citizen/file"
)

// Ends of the names of bodies.
const (
	freshEnd     = ".msg"
	deliveredEnd = ".msg.delivered"
	readEnd      = ".read"
)

func fresh(name string) bool { return strings.HasSuffix(name, freshEnd) }

// announced is the name that the doorbell gives a fresh body.
func announced(name string) string { return strings.TrimSuffix(name, freshEnd) + deliveredEnd }

// unread says whether a name is that of a body that nobody was handed.
func unread(name string) bool { return fresh(name) || strings.HasSuffix(name, deliveredEnd) }

// stem is the name of a body without what became of it; ok is false for the
// name of anything else.
func stem(name string) (stem string, ok bool) {
	name = strings.TrimSuffix(name, readEnd)
	if s, ok := strings.CutSuffix(name, deliveredEnd); ok {
		return s, true
	}
	return strings.CutSuffix(name, freshEnd)
}

// A body is renamed twice in its life, by the doorbell and by its reader, and a
// listing that goes on meanwhile may pass it over. So one of two listings has
// every body that stays unread through both, and one of three has every body.
const (
	unreadListings = 2
	allListings    = 3
)

// bodies are the names of the bodies that which picks, by their stems: one for
// each, the last that the listings have.
func (b box) bodies(listings int, which func(name string) bool) (map[string]string, error) {
	found := make(map[string]string)
	for range listings {
		b.step("list")
		names, err := file.Names(b.dir)
		b.step("listed")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if s, ok := stem(name); ok && which(name) {
				found[s] = name
			}
		}
	}
	return found, nil
}

// unread are the names of the bodies that nobody was handed, in their order.
func (b box) unread() ([]string, error) {
	found, err := b.bodies(unreadListings, unread)
	return slices.Sorted(maps.Values(found)), err
}

// A stem is a stamp, a hyphen and a tag of six hex digits.
const (
	stampForm = "2006-01-02T15-04-05.000Z"
	stampLen  = len(stampForm)
	tagLen    = 6
)

// stampOf flattens the stamp of a time so that it can be part of a name.
func stampOf(t time.Time) string {
	return strings.NewReplacer(":", "-", ".", "-").Replace(document.Stamp(t))
}

// timeOf is the time of a stem; ok is false when another program named it
// otherwise.
func timeOf(stem string) (t time.Time, ok bool) {
	if len(stem) != stampLen+1+tagLen {
		return time.Time{}, false
	}
	millis := strings.LastIndexByte(stem[:stampLen], '-')
	t, err := time.Parse(stampForm, stem[:millis]+"."+stem[millis+1:stampLen])
	return t, err == nil
}

// place is the name for a mail: that of the body with its id, when there is
// one, else a new one that sorts after every other. Two mails of one
// millisecond get two stamps, the later one a millisecond ahead of the clock, and
// so does one that comes after the clock was set back.
//
// The id is in the name as its tag. That has 24 bits, so a body with the same
// tag counts only when it is the same to the letter, and another letter's tag is
// made anew.
func (b box) place(l Mail, now time.Time) (name string, found bool, err error) {
	there, err := b.bodies(allListings, func(string) bool { return true })
	if err != nil {
		return "", false, err
	}
	for try := 0; ; try++ {
		tag := l.tag(try)
		taken := false
		for s, name := range there {
			if !strings.HasSuffix(s, "-"+tag) {
				continue
			}
			taken = true
			if is, err := b.holds(name, l.Body); err != nil || is && l.ID != "" {
				return name, is, err
			}
		}
		if !taken {
			return stampOf(after(lastOf(there, now), now)) + "-" + tag + freshEnd, false, nil
		}
	}
}

// aheadMost is how far ahead of our clock another one may be. A stamp further
// ahead is that of no clock, and does not drag ours along: behind the last one
// that can be written there is none.
const aheadMost = 24 * time.Hour

// lastOf is the time of the last body.
func lastOf(there map[string]string, now time.Time) (last time.Time) {
	for s := range there {
		if t, ok := timeOf(s); ok && t.After(last) && !t.After(now.Add(aheadMost)) {
			last = t
		}
	}
	return last
}

// after is the millisecond of a new body: now, or the next one after the last.
func after(last, now time.Time) time.Time {
	now = now.UTC().Truncate(time.Millisecond)
	if now.After(last) {
		return now
	}
	return last.Add(time.Millisecond)
}

// tag is what tells the mail's body from others, the same each time for a
// mail with an id.
func (l Mail) tag(try int) string {
	if l.ID == "" {
		random := make([]byte, tagLen/2)
		rand.Read(random) // never fails
		return hex.EncodeToString(random)
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(try) + "\n" + l.ID))
	return hex.EncodeToString(sum[:tagLen/2])
}

// holds says whether a body is that text. One that has been renamed since is
// looked for under its next names; one that is gone holds nothing.
func (b box) holds(name, text string) (bool, error) {
	s, _ := stem(name)
	for _, n := range []string{name, s + deliveredEnd, s + freshEnd + readEnd, s + deliveredEnd + readEnd} {
		body, err := file.Read(filepath.Join(b.dir, n), MaxBody)
		switch {
		case err == nil:
			return string(body) == text, nil
		case errors.Is(err, file.ErrIrregular), errors.Is(err, file.ErrTooLarge):
			return false, nil
		case !errors.Is(err, fs.ErrNotExist):
			return false, err
		}
	}
	return false, nil
}

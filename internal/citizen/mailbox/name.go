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
	"github.com/ratchet-dev/ratchet/internal/file"
)

// The suffixes of the names of bodies.
const (
	freshEnd     = ".msg"
	deliveredEnd = ".msg.delivered"
	readEnd      = ".read"
)

func isFresh(name string) bool { return strings.HasSuffix(name, freshEnd) }

// announcedName returns the name that the doorbell gives a fresh body.
func announcedName(name string) string { return strings.TrimSuffix(name, freshEnd) + deliveredEnd }

// isUnread reports whether name belongs to a body that no reader was given.
func isUnread(name string) bool { return isFresh(name) || strings.HasSuffix(name, deliveredEnd) }

// stemOf returns the name of a body without its suffixes; ok is false if name does not belong to a
// body.
func stemOf(name string) (stem string, ok bool) {
	name = strings.TrimSuffix(name, readEnd)
	if s, ok := strings.CutSuffix(name, deliveredEnd); ok {
		return s, true
	}
	return strings.CutSuffix(name, freshEnd)
}

// The doorbell and the reader each rename a body once. A listing that runs during a rename may miss
// the body. Of two listings, one has every body that stays unread through both. Of three listings,
// one has every body.
const (
	unreadListings = 2
	allListings    = 3
)

// bodiesByStem returns the names of bodies by their stems. The function which selects the names. Each
// stem has one name, the last that the listings have.
func (b box) bodiesByStem(listings int, which func(name string) bool) (map[string]string, error) {
	found := make(map[string]string)
	for range listings {
		b.step("list")
		names, err := file.Names(b.dir)
		b.step("listed")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if s, ok := stemOf(name); ok && which(name) {
				found[s] = name
			}
		}
	}
	return found, nil
}

// unreadBodies returns the names of the bodies that no reader was given, in their order.
func (b box) unreadBodies() ([]string, error) {
	found, err := b.bodiesByStem(unreadListings, isUnread)
	return slices.Sorted(maps.Values(found)), err
}

// A stem is a stamp, a hyphen and a tag of six hex digits.
const (
	stampForm = "2006-01-02T15-04-05.000Z"
	stampLen  = len(stampForm)
	tagLen    = 6
)

// stampOf formats a time as a stamp that can be part of a name.
func stampOf(t time.Time) string {
	return strings.NewReplacer(":", "-", ".", "-").Replace(document.Stamp(t))
}

// timeOf returns the time of a stem; ok is false when another program named it in another form.
func timeOf(stem string) (t time.Time, ok bool) {
	if len(stem) != stampLen+1+tagLen {
		return time.Time{}, false
	}
	millis := strings.LastIndexByte(stem[:stampLen], '-')
	if millis < 0 {
		return time.Time{}, false
	}
	t, err := time.Parse(stampForm, stem[:millis]+"."+stem[millis+1:stampLen])
	return t, err == nil
}

// placeFor returns the name for a mail: the name of the body with its id if there is one, otherwise a
// new name that sorts after every other. Two mails of one millisecond get two stamps, the later a
// millisecond ahead of the clock. A mail that comes after the clock was set back also gets a stamp
// ahead of the clock.
//
// The tag in the name is derived from the id. It has 24 bits. A body with the same tag therefore
// counts as the same mail only when its text is identical; otherwise the mail gets another tag.
func (b box) placeFor(l Mail, now time.Time) (name string, found bool, err error) {
	there, err := b.bodiesByStem(allListings, func(string) bool { return true })
	if err != nil {
		return "", false, err
	}
	for try := 0; ; try++ {
		tag := l.bodyTag(try)
		taken := false
		for s, name := range there {
			if !strings.HasSuffix(s, "-"+tag) {
				continue
			}
			taken = true
			if is, err := b.holdsText(name, l.Body); err != nil || is && l.ID != "" {
				return name, is, err
			}
		}
		if !taken {
			return stampOf(nextMillisecond(lastOf(there, now), now)) + "-" + tag + freshEnd, false, nil
		}
	}
}

// aheadMost is how far another clock may be ahead of ours. A stamp further ahead comes from no real
// clock and does not move ours: after the last stamp that can be written, none could follow.
const aheadMost = 24 * time.Hour

// lastOf returns the time of the last body.
func lastOf(there map[string]string, now time.Time) (last time.Time) {
	for s := range there {
		if t, ok := timeOf(s); ok && t.After(last) && !t.After(now.Add(aheadMost)) {
			last = t
		}
	}
	return last
}

// nextMillisecond returns the millisecond of a new body: now, or the next one after the last.
func nextMillisecond(last, now time.Time) time.Time {
	now = now.UTC().Truncate(time.Millisecond)
	if now.After(last) {
		return now
	}
	return last.Add(time.Millisecond)
}

// bodyTag returns the digits that tell the mail's body from others. A mail with an id gets the same tag
// each time for the same try.
func (l Mail) bodyTag(try int) string {
	if l.ID == "" {
		random := make([]byte, tagLen/2)
		rand.Read(random) // never fails
		return hex.EncodeToString(random)
	}
	sum := sha256.Sum256([]byte(strconv.Itoa(try) + "\n" + l.ID))
	return hex.EncodeToString(sum[:tagLen/2])
}

// holdsText reports whether a body has that text. It looks for a renamed body under its next names. A
// body that is gone holds nothing.
func (b box) holdsText(name, text string) (bool, error) {
	s, _ := stemOf(name)
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

package home

import (
	"os"
	"path/filepath"
	"time"

	"github.com/ratchet-dev/ratchet/internal/run"
	"github.com/ratchet-dev/ratchet/starter/internal/story"
)

// dayUsage sums up what the runs of this host have used since midnight, by their records. It reads a record again only
// when that has grown.
type dayUsage struct {
	dir  string // of the runs
	read func(run.ID) ([]run.Event, error)

	last run.Usage // the latest sum
	day  time.Time
	seen map[run.ID]recordSum
}

// recordSum is what a record of that size says.
type recordSum struct {
	size int64
	used run.Usage
}

// sum brings last up to date. A record that cannot be read adds nothing.
func (d *dayUsage) sum(now time.Time) {
	year, month, date := now.Date()
	midnight := time.Date(year, month, date, 0, 0, 0, 0, now.Location())
	if !d.day.Equal(midnight) {
		d.day, d.seen = midnight, map[run.ID]recordSum{}
	}
	entries, _ := os.ReadDir(filepath.Join(d.dir, "workflows"))
	var total run.Usage
	for _, entry := range entries {
		id := run.ID(entry.Name())
		info, err := os.Stat(filepath.Join(d.dir, "workflows", entry.Name(), "events.ndjson"))
		if id.Validate() != nil || err != nil || info.ModTime().Before(midnight) {
			continue
		}
		if d.seen[id].size != info.Size() {
			d.seen[id] = recordSum{info.Size(), d.usedSince(id)}
		}
		total = total.Add(d.seen[id].used)
	}
	d.last = total
}

func (d *dayUsage) usedSince(id run.ID) (used run.Usage) {
	events, err := d.read(id)
	if err != nil {
		return used
	}
	for _, e := range events {
		if !e.TS.Before(d.day) {
			used = used.Add(story.UsageOf(e))
		}
	}
	return used
}

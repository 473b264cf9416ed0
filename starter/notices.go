package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
)

// fillNotices gives the flags of notices that the command line does not name the values of the user's file, and
// tells which.
func (c *cli) fillNotices(flags *pflag.FlagSet) error {
	user, err := settings.Read(c.settingsPath())
	if err != nil {
		return err
	}
	for _, way := range []struct{ key, flag string }{
		{settings.NoticeCommand, "notify"}, {settings.NoticeWebhook, "webhook"},
	} {
		v, ok := user.Notices[way.key]
		if !ok || flags.Changed(way.flag) {
			continue
		}
		if err := flags.Set(way.flag, v.Texts[0]); err != nil {
			return usageErrorf("%s:%d: %s: %w", display.Line(v.Path), v.Line, way.key, err)
		}
		fmt.Fprintf(c.err, "starter: %s of notices as %s says\n", way.key, display.Line(v.Path))
	}
	return nil
}

// isSilent reports whether the user's file wants no bell. A file that cannot be read wants nothing.
func (c *console) isSilent() bool {
	if c.silent == nil {
		user, err := settings.Read(c.settingsPath())
		silent := err == nil && !user.Bell()
		c.silent = &silent
	}
	return *c.silent
}

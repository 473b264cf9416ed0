package up

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// fillNotices gives the flags of notices that the command line does not name the values of the user's file, and
// tells which.
func fillNotices(c *factory.Factory, flags *pflag.FlagSet) error {
	user, err := settings.Read(c.SettingsPath())
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
			return usage.Errorf("%s:%d: %s: %w", display.Line(v.Path), v.Line, way.key, err)
		}
		fmt.Fprintf(c.Err, "starter: %s of notices as %s says\n", way.key, display.Line(v.Path))
	}
	return nil
}

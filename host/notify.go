package host

import (
	"errors"
	"flag"
	"fmt"

	"github.com/ratchet-dev/ratchet/activities/notify"
	notices "github.com/ratchet-dev/ratchet/internal/notify"
	"github.com/ratchet-dev/ratchet/internal/proc"
)

// secretVariable holds the key by which webhooks are signed. It stands in no command line, which other users can read.
const secretVariable = "RATCHET_WEBHOOK_SECRET"

// addNotifyFlags adds the flags of notices. Their program and address are used outside of the box, so that no file of a
// repository can say it.
func (c *Config) addNotifyFlags(flags *flag.FlagSet) {
	flags.StringVar(&c.Notify.Command, "notify", "", "shell `command` that is run when a run needs you or has ended; it gets RATCHET_TITLE, RATCHET_TEXT and RATCHET_LINK as variables, and JSON on standard input")
	flags.Func("webhook", "`URL` that gets the same by POST, signed according to Standard Webhooks with the key in "+secretVariable, func(text string) error {
		c.Notify.Webhook = text
		return notices.CheckURL(text)
	})
}

// noticeVariables are what the command of notices sees of the worker's environment: enough to reach the desktop.
var noticeVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CURRENT_DESKTOP",
}

// openNotify completes the configuration of notices.
func (c Config) openNotify() (notify.Config, error) {
	n := c.Notify
	n.Redact, n.Environ = c.redactor().String, proc.Environ(c.lookup, noticeVariables, nil)
	if n.Webhook == "" {
		return n, nil
	}
	text, ok := c.lookup(secretVariable)
	if !ok {
		return n, errors.New("--webhook needs the signing key in " + secretVariable + ", the same as at the receiver")
	}
	var err error
	if n.Secret, err = notices.ParseSecret(text); err != nil {
		return n, fmt.Errorf("%s: %w", secretVariable, err)
	}
	return n, nil
}

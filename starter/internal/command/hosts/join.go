package hosts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ratchet-dev/ratchet/internal/display"
	"github.com/ratchet-dev/ratchet/internal/engine"
	"github.com/ratchet-dev/ratchet/internal/engine/hosts"
	"github.com/ratchet-dev/ratchet/internal/temporalclient"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
	"github.com/ratchet-dev/ratchet/starter/internal/usage"
)

// defaultListen is where the door listens unless the user says something else.
const defaultListen = ":7243"

func newJoin(c *factory.Factory) *cobra.Command {
	var listen, address string
	cmd := &cobra.Command{
		Use:   "join",
		Short: "Print the line that lets another machine serve this engine",
		Long: `Prints one line to paste on another machine, once and within ten minutes. It holds a
secret, and the digest of the engine's certificate, by which the other machine knows
this one. ` + "`starter up`" + ` here listens for other machines from then on, until
the last of them is removed. For a server of a team, ` + "`worker -admit-hosts`" + `
listens. Whoever reaches that port without a certificate of a
joined machine can do nothing but name a code.

Join only machines that you trust as this one: a joined machine can do all that you
can at the engine, such as approve.`,
		Example: "  starter host join\n  starter host join --listen 10.0.0.5:7243\n  starter host join --address home.example.com:7243 --json | jq -r .command",
		Args:    usage.Args(0, "no arguments, only flags"),
		RunE: c.Handle(func(ctx context.Context, _ []string) error {
			if err := c.MayDecide(); err != nil {
				return err
			}
			return join(ctx, c, listen, address)
		}),
	}
	cmd.Flags().StringVar(&listen, "listen", "", "`host:port` at which this machine listens for others; default: that of the last join, or "+defaultListen)
	cmd.Flags().StringVar(&address, "address", "", "`host:port` by which other machines reach that; default: an address of this machine")
	return cmd
}

func join(ctx context.Context, c *factory.Factory, listen, address string) error {
	target, err := c.ResolveEngine()
	if err != nil {
		return err
	}
	switch target.Source {
	case temporalclient.Joined:
		return fmt.Errorf("this machine has joined another as %s: run `starter host join` on that one", target.Host)
	case temporalclient.Configuration: // a worker admits hosts
	default:
		if _, err := temporalclient.Knock(ctx, c.RunsDir); err != nil {
			return err
		}
	}
	key, err := engine.ReadKey(c.RunsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the server at %s admits hosts by a worker: start `worker -admit-hosts -runs-dir %s` here, with the same TEMPORAL_ variables", target.Address, c.RunsDir)
	}
	if err != nil {
		return err
	}
	book, err := hosts.Read(c.RunsDir)
	if err != nil {
		return err
	}
	listen = cmp.Or(listen, book.Listen, defaultListen)
	if address == "" {
		address, err = reachable(listen)
	}
	if err == nil {
		err = errors.Join(checkAddress("--listen", listen), checkAddress("--address", address))
	}
	if err != nil {
		return err
	}
	if !book.Open(c.Now()) || book.Listen != listen { // nothing of ours listens there yet
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return fmt.Errorf("--listen %s: %w", listen, err)
		}
		l.Close()
	}
	until := c.Now().Add(hosts.CodeLife)
	secret, err := hosts.Invite(ctx, c.RunsDir, listen, c.Now())
	if err != nil {
		return err
	}
	if err := hosts.Await(ctx, listen, key); err != nil {
		return err
	}
	code := hosts.NewCode(address, secret, key).String()
	command := "echo '" + code + "' | worker -join" // echo is the shell's own: no process has the code among its arguments
	if c.JSON {
		return c.PrintJSON(struct {
			Command string    `json:"command"`
			Code    string    `json:"code"`
			Listen  string    `json:"listen"`
			Until   time.Time `json:"until"`
		}{command, code, listen, until.UTC()})
	}
	c.Printf("Paste this on the other machine, once, until %s:\n\n  %s\n\n", until.Local().Format("15:04"), command)
	c.Printf("This machine listens at %s for hosts that have joined. `%s` shows them, `%s` ends it.\n", listen, c.Hint("hosts"), c.Hint("host remove NAME"))
	return nil
}

func checkAddress(flag, address string) error {
	_, port, err := net.SplitHostPort(address)
	if n, bad := net.LookupPort("tcp", port); err != nil || bad != nil || n == 0 {
		return usage.Errorf("%s %q: want host:port", flag, address)
	}
	return nil
}

// reachable returns by what other machines are likely to reach an address at which this one listens.
func reachable(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", checkAddress("--listen", listen)
	}
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return listen, nil
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return "", err
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return net.JoinHostPort(n.IP.String(), port), nil
		}
	}
	name, err := os.Hostname()
	return net.JoinHostPort(name, port), err
}

func newRemove(c *factory.Factory) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Refuse a machine that has joined, at once",
		Long:    "Refuses a machine that has joined. Its connections are cut at once, and its worker ends.\nRuns that it was doing wait until it joins again under the same name.",
		Example: "  starter host remove laptop",
		Args:    usage.Args(1, "the name of one host: see starter hosts"),
		RunE: c.Handle(func(ctx context.Context, args []string) error {
			if err := c.MayDecide(); err != nil {
				return err
			}
			if err := hosts.Remove(ctx, c.RunsDir, args[0]); err != nil {
				return err
			}
			waiting := 0 // of an engine that does not answer it is not known
			if client, closeClient, err := c.Dial(ctx); err == nil {
				defer closeClient()
				waiting, _ = client.OpenAt(ctx, args[0])
			}
			if c.JSON {
				return c.PrintJSON(struct {
					Removed string `json:"removed"`
					Waiting int    `json:"waiting"`
				}{args[0], waiting})
			}
			c.Printf("removed %s\n", args[0])
			if waiting > 0 {
				c.Printf("%s until it joins again under that name: `%s` shows them\n", display.Count(waiting, "open run waits", "open runs wait"), c.Hint("list"))
			}
			return nil
		}),
	}
}

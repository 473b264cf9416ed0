package host

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/sdk/client"

	forgeacts "github.com/ratchet-dev/ratchet/activities/forge"
	"github.com/ratchet-dev/ratchet/internal/forge"
	"github.com/ratchet-dev/ratchet/internal/redact"
)

// forgeFlag is a server as a flag names it. The token itself stands in no command line, which other users can read.
type forgeFlag struct {
	kind  forge.Kind
	url   string
	app   string // of GitHub, whose private key token names; empty: token names a token
	token string // name of a variable, or an absolute path
}

// forgeVariables hold the token for GitHub where no flag names it, in the order in which they count.
var forgeVariables = []string{"GITHUB_TOKEN", "GH_TOKEN"}

const gitHubURL = "https://github.com"

func (c *Config) addForgeFlags(flags *flag.FlagSet) {
	flags.Func("forge", "`KIND:URL=TOKEN`: a server that `starter pr` may push to: github or gitea (also for Forgejo), its URL, and the variable or 0600 file that holds the token, or, as APP-ID@FILE, the private key of a GitHub App; repeatable; default: github:https://github.com=GITHUB_TOKEN, if it is set", func(text string) error {
		f, err := parseForge(text)
		if err == nil {
			c.forges = append(c.forges, f)
		}
		return err
	})
	flags.Func("forge-bot", "`account` of a bot whose reviews tickets take as those of people, such as coderabbitai[bot]; they approve nothing; repeatable; default: none", func(name string) error {
		c.bots = append(c.bots, name)
		return nil
	})
	flags.StringVar(&c.ForgeCA, "forge-ca", "", "`file` with the CA certificates for the servers of --forge; default: the system's")
	flags.DurationVar(&c.ForgePace, "forge-pace", forgeacts.DefaultPace, "`duration` between two looks at the pull request of a ticket whose checks run; one that waits for people is looked at a tenth as often")
}

func parseForge(text string) (forgeFlag, error) {
	kind, rest, ok := strings.Cut(text, ":")
	url, token, found := strings.Cut(rest, "=")
	if !ok || !found || token == "" {
		return forgeFlag{}, errors.New("want KIND:URL=TOKEN, such as gitea:https://git.example.com=GITEA_TOKEN")
	}
	f := forgeFlag{kind: forge.Kind(kind), url: strings.TrimSuffix(url, "/"), token: token}
	s := forge.Server{Kind: f.kind, URL: f.url, Token: "unread-token"}
	if app, key, ok := strings.Cut(token, "@"); ok && appForm.MatchString(app) {
		f.app, f.token, s.App = app, key, &forge.App{}
	}
	return f, s.Check()
}

// appForm is the form of an app's id and of its client id.
var appForm = regexp.MustCompile(`^[A-Za-z0-9.]+$`)

// openForges reads the tokens of the servers.
func (c Config) openForges() (servers []forge.Server, err error) {
	flags := slices.Clone(c.forges)
	if !slices.ContainsFunc(flags, func(f forgeFlag) bool { return f.url == gitHubURL }) {
		for _, name := range forgeVariables {
			value, _ := c.lookup(name)
			if forge.CheckToken(value) != nil { // no flag names this variable: it may be for another program
				continue
			}
			flags = append(flags, forgeFlag{kind: forge.GitHub, url: gitHubURL, token: name})
			break
		}
	}
	for _, f := range flags {
		token, err := c.readToken(f.token)
		if err != nil {
			return nil, fmt.Errorf("--forge %s: %w", f.url, err)
		}
		s := forge.Server{Kind: f.kind, URL: f.url, Token: token, CA: c.ForgeCA}
		if f.app != "" {
			s.Token = ""
			if s.App, err = forge.OpenApp(f.app, []byte(token)); err != nil {
				return nil, fmt.Errorf("--forge %s: %w", f.url, err)
			}
		}
		if err := s.Check(); err != nil {
			return nil, fmt.Errorf("--forge: %w", err)
		}
		servers = append(servers, s)
	}
	return servers, nil
}

// readToken reads a token from a variable of the worker or from a file that its user alone can read.
func (c Config) readToken(where string) (string, error) {
	if !filepath.IsAbs(where) {
		value, ok := c.lookup(where)
		if !ok {
			return "", fmt.Errorf("the variable %s is not set", where)
		}
		return strings.TrimSpace(value), nil
	}
	info, err := os.Stat(where)
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("other users can read %s: chmod 600 %s", where, where)
	}
	b, err := os.ReadFile(where)
	return strings.TrimSpace(string(b)), err
}

// redactor returns the redactor of the worker's secrets: of its environment, and of the tokens that come from files.
func (c Config) redactor() *redact.Redactor {
	var extra []redact.Secret
	for _, s := range c.servers {
		extra = append(extra, redact.Secret{Name: "FORGE_TOKEN", Value: s.Token})
		if s.App != nil { // of the tokens that it has made so far
			for _, token := range s.App.Tokens() {
				extra = append(extra, redact.Secret{Name: "FORGE_TOKEN", Value: token})
			}
		}
	}
	return redact.New(c.Environ, extra...)
}

// forgeConfig returns the configuration of the activities of pull requests.
func (h *Host) forgeConfig(w *Worker) forgeacts.Config {
	servers := slices.Clone(h.config.servers)
	for i := range servers {
		servers[i].OnAnswer = countCalls(w.metrics, servers[i].Host())
	}
	return forgeacts.Config{
		RunsDir: h.config.RunsDir, Servers: servers, Link: w.linkOf, Pace: h.config.ForgePace, Bots: h.config.bots,
		Redact: func(text string) string { return h.config.redactor().String(text) }, // apps make more secrets
		Engine: ticketed{scheduled{h.runsOf(w), h.config.RunsDir}, w.Client, w.TaskQueue},
	}
}

// countCalls returns what counts the calls of a server in the worker's metrics; nil: there are none.
func countCalls(metrics client.MetricsHandler, host string) func(code int, r forge.Rate) {
	if metrics == nil {
		return nil
	}
	return func(code int, r forge.Rate) {
		metrics.WithTags(map[string]string{"host": host, "code": strconv.Itoa(code)}).Counter("ratchet_forge_calls").Inc(1)
		if r.Limit > 0 {
			metrics.WithTags(map[string]string{"host": host}).Gauge("ratchet_forge_calls_left").Update(float64(r.Remaining))
		}
	}
}

// Package console is what a command uses of its process: the terminal, the environment, the clock and the two
// output forms, text and JSON.
package console

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/ratchet-dev/ratchet/internal/proc"
	"github.com/ratchet-dev/ratchet/starter/internal/dialog"
	"github.com/ratchet-dev/ratchet/starter/internal/settings"
)

// Console holds everything of its process that a command uses.
type Console struct {
	Program     string // how the user called it; empty: starter
	Args        []string
	In          io.Reader
	Out, Err    io.Writer
	Environ     []string
	Now         func() time.Time
	Interactive bool // a person can be asked
	Screen      bool // Out is a terminal
	Width       func() int
	Height      func() int  // of the terminal in lines; nil or 0: not known
	Supervised  func() bool // a worker of Ratchet started this process, or an ancestor of it; nil: none did

	JSON  bool
	Plain bool // no colours

	silent *bool   // the user's file wants no bell; nil: it was not read
	Stdout *output // around out
	lines  *dialog.Lines
	atEnd  []func() // give the terminal back
}

// Open returns the console of one command, with the input, output and environment of c.
func (c Console) Open() *Console {
	c.Stdout, c.lines, c.atEnd = &output{Writer: c.Out}, nil, nil
	return &c
}

// GiveBack gives the terminal back as the command found it.
func (c *Console) GiveBack() {
	for _, f := range c.atEnd {
		f()
	}
}

// ReadInput reads a file, or the standard input for -: one byte more than most if it is longer.
func (c *Console) ReadInput(name string, most int) ([]byte, error) {
	in := c.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	return io.ReadAll(io.LimitReader(in, int64(most)+1))
}

func (c *Console) Getenv(name string) string {
	value, _ := c.LookupEnv(name)
	return value
}

func (c *Console) LookupEnv(name string) (string, bool) {
	for _, entry := range c.Environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value, true
		}
	}
	return "", false
}

var errNotYours = errors.New("programs of a run cannot decide about any run: decide from a terminal of your own")

// MayDecide refuses a process that a run, or an agent of Ratchet, has started. It is an
// additional safeguard only. It does not stop a process that reaches the engine by other means.
func (c *Console) MayDecide() error {
	if id := c.Getenv(proc.RunVariable); id != "" {
		return fmt.Errorf("%w (%s is %s)", errNotYours, proc.RunVariable, id)
	}
	if c.Supervised != nil && c.Supervised() {
		return fmt.Errorf("%w (a worker of Ratchet started this process)", errNotYours)
	}
	return nil
}

func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func screenColumns(f *os.File) int {
	columns, _ := ScreenSize(f)
	return columns
}

// ScreenSize returns the size of a terminal; zero: it is not known.
func ScreenSize(f *os.File) (columns, lines int) {
	columns, lines, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, lines
}

// IsSilent reports whether the user's file wants no bell. A file that cannot be read wants nothing.
func (c *Console) IsSilent() bool {
	if c.silent == nil {
		user, err := settings.Read(c.SettingsPath())
		silent := err == nil && !user.Bell()
		c.silent = &silent
	}
	return *c.silent
}

func (c *Console) SettingsPath() string { return settings.Path(c.Getenv) }

// UserName returns the local user's name, or a number for one without a name. Decisions carry it.
func (c *Console) UserName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return cmp.Or(c.Getenv("USER"), c.Getenv("LOGNAME"), "uid-"+strconv.Itoa(os.Getuid()))
}

// NearPath returns the path relative to the working directory when it lies there. It returns any
// other path unchanged.
func NearPath(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(wd, path)
	if err != nil || !filepath.IsLocal(rel) {
		return path
	}
	return rel
}

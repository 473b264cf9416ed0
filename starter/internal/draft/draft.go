// Package draft has a person write a text in the editor.
package draft

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/ratchet-dev/ratchet/starter/internal/console"
	"github.com/ratchet-dev/ratchet/starter/internal/factory"
)

// Draft is a text in a file of its own, which a person edits. The file stays until Remove, so the text is not lost if the
// command fails.
type Draft struct {
	console      *console.Console
	editor, path string
}

// New makes a draft whose file has a name of that pattern. Instead says what else to do where there is no editor.
func New(c *factory.Factory, pattern, text, instead string) (*Draft, error) {
	editor := cmp.Or(c.Getenv("VISUAL"), c.Getenv("EDITOR"))
	if editor == "" {
		return nil, errors.New("there is no editor: set EDITOR, " + instead)
	}
	f, err := os.CreateTemp("", pattern)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	return &Draft{c.Console, editor, f.Name()}, nil
}

// Edit opens the editor, and returns the text that is in the file afterwards, also if the editor fails.
func (d *Draft) Edit() (string, error) {
	cmd := exec.Command("sh", "-c", d.editor+` "$1"`, "sh", d.path)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = d.console.Environ, d.console.In, d.console.Out, d.console.Err
	failed := cmd.Run()
	if failed != nil {
		failed = fmt.Errorf("the editor %q: %w: nothing was decided", d.editor, failed)
	}
	b, err := os.ReadFile(d.path)
	return string(b), cmp.Or(failed, err)
}

// Path returns the name of the file.
func (d *Draft) Path() string { return d.path }

// Remove removes the file.
func (d *Draft) Remove() { _ = os.Remove(d.path) }

// Write replaces the text.
func (d *Draft) Write(text string) error { return os.WriteFile(d.path, []byte(text), 0o600) }

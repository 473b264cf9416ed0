package factory

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/ratchet-dev/ratchet/starter/internal/console"
)

// Call runs a command of this program in this process, without a terminal, and returns its output. In args, untrusted
// values must follow an equals sign or the end of the flags, so that they are not read as flags.
func (c *Factory) Call(ctx context.Context, args ...string) ([]byte, error) {
	args = append([]string{args[0], "--runs-dir=" + c.RunsDir, "--task-queue=" + c.Queue}, args[1:]...)
	var out, said bytes.Buffer
	child := c.Fork(console.Console{
		Program: c.Program, Args: args, In: strings.NewReader(""), Out: &out, Err: &said, Environ: c.Environ, Now: c.Now,
		Width: func() int { return 0 }, Supervised: c.Supervised,
	})
	if code := child.Run(ctx); code != 0 && child.Failed == nil {
		return nil, fmt.Errorf("it ended with exit code %d", code)
	}
	return out.Bytes(), child.Failed
}

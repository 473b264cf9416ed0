// Package keeper ends the process group of a program after the death of the process that has started it, and holds files
// open until the group is gone. It stands in for package supervisor on systems where there is none. It is a shell in a
// session of its own, and does not see what has left the group.
package keeper

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// script reads the number of the group, and a word when the group has ended. The end of its input in place of the word is
// the death of its starter.
const script = `read -r group || exit 0
read -r word && exit 0
kill -s TERM -- "-$group"
n=$1
while [ "$n" -gt 0 ] && kill -0 -- "-$group"; do sleep 0.1; n=$((n - 1)); done
kill -s KILL -- "-$group"
while kill -0 -- "-$group"; do sleep 0.1; done`

// tick is the pause of the script.
const tick = 100 * time.Millisecond

// Keeper is a running keeper.
type Keeper struct {
	cmd  *exec.Cmd
	told *os.File
}

// Start starts a keeper that holds the files open. The group has the grace between SIGTERM and SIGKILL.
func Start(kept []*os.File, grace time.Duration) (*Keeper, error) {
	in, told, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	k := &Keeper{told: told, cmd: &exec.Cmd{
		Path: "/bin/sh", Args: []string{"sh", "-c", script, "keeper", strconv.FormatInt(int64(grace/tick), 10)},
		Dir: "/", Env: []string{"PATH=/usr/bin:/bin"}, Stdin: in, ExtraFiles: kept, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}}
	if err := k.cmd.Start(); err != nil {
		told.Close()
		return nil, fmt.Errorf("keeper: %w", err)
	}
	return k, nil
}

// Watch names the group to the keeper. A group of which a keeper never heard outlives its starter.
func (k *Keeper) Watch(group int) error {
	_, err := fmt.Fprintln(k.told, group)
	return err
}

// Release ends the keeper once the group has ended, or has never begun.
func (k *Keeper) Release() {
	fmt.Fprintln(k.told, "over") // a keeper that was killed does not read it
	k.told.Close()
	k.cmd.Wait()
}

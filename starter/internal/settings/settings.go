// Package settings reads and keeps what a user has decided once for all runs, in a file of the user's
// own. A file that another user can write, or that holds anything unknown, is refused.
package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"

	"github.com/ratchet-dev/ratchet/internal/run"
)

// Settings are the content of the file.
type Settings struct {
	// Sandbox is the policy for the box where no flag names one; empty: nothing was decided.
	Sandbox run.Sandbox `toml:"sandbox"`
}

// maxFile bounds the bytes of the file.
const maxFile = 64 << 10

// Path returns the path of the file: ratchet/config.toml in XDG_CONFIG_HOME, or in .config of HOME. It
// is empty if neither is known.
func Path(getenv func(string) string) string {
	dir := getenv("XDG_CONFIG_HOME")
	if home := getenv("HOME"); !filepath.IsAbs(dir) && filepath.IsAbs(home) {
		dir = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.Join(dir, "ratchet", "config.toml")
}

// Read returns the settings in the file. A file that does not exist holds none.
func Read(path string) (Settings, error) {
	if path == "" {
		return Settings{}, nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, nil
	}
	if err != nil {
		return Settings{}, fmt.Errorf("settings: %w", err)
	}
	defer f.Close()
	s, err := decode(f)
	if err != nil {
		return Settings{}, fmt.Errorf("settings %s: %w", path, err)
	}
	return s, nil
}

func decode(f *os.File) (Settings, error) {
	if err := checkOwner(f); err != nil {
		return Settings{}, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("more than %d bytes", maxFile)
	}
	if err != nil {
		return Settings{}, err
	}
	var s Settings
	meta, err := toml.Decode(string(b), &s)
	if err != nil {
		line, _, _ := strings.Cut(err.Error(), "\n")
		return Settings{}, errors.New(line)
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return Settings{}, fmt.Errorf("unknown key %q: the only key is sandbox", unknown[0].String())
	}
	return s, nil
}

func checkOwner(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular() || !known:
		return errors.New("not a regular file")
	case int(owner.Uid) != os.Geteuid() && owner.Uid != 0:
		return fmt.Errorf("it belongs to user %d, not to you", owner.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return errors.New("other users can write it: chmod 600")
	}
	return nil
}

// RememberSandbox adds the policy to the file, unless the file names one already. It keeps the rest of
// the file, and makes a new one readable for this user alone.
func RememberSandbox(path string, policy run.Sandbox) error {
	s, err := Read(path)
	if err != nil || s.Sandbox != "" {
		return err
	}
	if path == "" {
		return errors.New("settings: no place for the file: neither HOME nor XDG_CONFIG_HOME is set")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("settings: %w", err)
	}
	line := fmt.Sprintf("sandbox = %q\n", policy)
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		line = "\n" + line // the last line may lack its end
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

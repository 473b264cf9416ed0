package scratch

import (
	"os"
	"testing"
	"time"
)

// OpenFile and ListDir are how the tree is read, when something else has taken the place
// of what was looked at.
func OpenFile(tree *os.Root, name string) error {
	f, _, err := openRegular(tree, name)
	if err != nil {
		return err
	}
	return f.Close()
}

func ListDir(tree *os.Root, name string) error {
	_, err := listDirectory(tree, name, 10)
	return err
}

// ShortenIgnore bounds the look for ignored names until the test ends.
func ShortenIgnore(t *testing.T, limit time.Duration) {
	was := ignoreTimeout
	ignoreTimeout = limit
	t.Cleanup(func() { ignoreTimeout = was })
}

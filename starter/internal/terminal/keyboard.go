package terminal

import (
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// Key is one key that a person has pressed: a character, or a key that has a name.
type Key struct {
	Char rune // zero: the key has a name
	Name KeyName
}

// KeyName names a key that is no character.
type KeyName string

// The keys that are distinguished. Other keys of a terminal are Other.
const (
	Enter     KeyName = "enter"
	Backspace KeyName = "backspace"
	Escape    KeyName = "escape"
	Up        KeyName = "up"
	Down      KeyName = "down"
	PageUp    KeyName = "page up"
	PageDown  KeyName = "page down"
	EraseLine KeyName = "erase line" // ctrl-u
	EraseWord KeyName = "erase word" // ctrl-w
	EndInput  KeyName = "end"        // ctrl-d
	Other     KeyName = "other"
)

// Keyboard reads keys from a terminal without echo, one by one. Interrupts stay signals. The terminal is
// as it was before while the keyboard is paused, and after Close.
type Keyboard struct {
	file *os.File
	keys chan Key
	done chan struct{}

	mu     sync.Mutex // held while a read is in progress
	before *unix.Termios
	pastes io.Writer // see HoldPastes
	paused bool
	end    func()
}

// OpenKeyboard begins to read keys from the terminal.
func OpenKeyboard(f *os.File) (*Keyboard, error) {
	before, err := unix.IoctlGetTermios(int(f.Fd()), readTermios)
	if err != nil {
		return nil, err
	}
	k := &Keyboard{file: f, keys: make(chan Key, 64), done: make(chan struct{}), before: before}
	if err := k.setMode(true); err != nil {
		return nil, err
	}
	// A shell that stops us and lets us continue sets the terminal to its own mode in between.
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	k.end = sync.OnceFunc(func() {
		signal.Stop(continued)
		close(k.done)
		k.mu.Lock()
		defer k.mu.Unlock()
		if !k.paused { // else another program has the terminal, and its mode
			_ = k.setMode(false)
		}
	})
	go k.read()
	go func() {
		for {
			select {
			case <-k.done:
				return
			case <-continued:
				k.mu.Lock()
				k.takeBack()
				k.mu.Unlock()
			}
		}
	}()
	return k, nil
}

// The sequences that turn a terminal's marks around pasted text on and off (xterm's bracketed paste mode), and the marks.
const (
	markPastes  = "\x1b[?2004h"
	leavePastes = "\x1b[?2004l"
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// HoldPastes ignores line feeds of pasted text: they must not answer a question that the person has not read. Out leads to
// the terminal.
func (k *Keyboard) HoldPastes(out io.Writer) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pastes = out
	k.takeBack()
}

// Keys returns the channel of the keys.
func (k *Keyboard) Keys() <-chan Key { return k.keys }

// Close gives the terminal back. A second call does nothing.
func (k *Keyboard) Close() { k.end() }

// Pause gives the terminal to another program until resume is called.
func (k *Keyboard) Pause() (resume func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.paused = true
	_ = k.setMode(false)
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.paused = false
		k.takeBack()
	}
}

// takeBack sets the terminal to single keys again, unless the keyboard is paused, or closed: then nothing would give it
// back. The caller holds the lock.
func (k *Keyboard) takeBack() {
	select {
	case <-k.done:
		return
	default:
	}
	if !k.paused {
		_ = k.setMode(true)
	}
}

// setMode sets the terminal to single keys, or back. A read then waits for a tenth of a second at most, so
// that it can be ended.
func (k *Keyboard) setMode(keys bool) error {
	mode := *k.before
	if keys {
		mode.Lflag &^= unix.ICANON | unix.ECHO
		mode.Cc[unix.VMIN], mode.Cc[unix.VTIME] = 0, 1
	}
	if err := unix.IoctlSetTermios(int(k.file.Fd()), writeTermios, &mode); err != nil || k.pastes == nil {
		return err
	}
	mark := leavePastes
	if keys {
		mark = markPastes
	}
	_, err := io.WriteString(k.pastes, mark)
	return err
}

func (k *Keyboard) read() {
	defer close(k.keys)
	var d decoder
	b := make([]byte, 256)
	for {
		select {
		case <-k.done:
			return
		default:
		}
		n, err := k.readSome(b)
		switch {
		case err == unix.EINTR || err == unix.EAGAIN:
			continue
		case err != nil || n < 0:
			return
		}
		for _, key := range d.decode(b[:n]) {
			select {
			case k.keys <- key:
			case <-k.done:
				return
			}
		}
	}
}

// readSome reads what has been typed. A keyboard that is closed reads no more: the terminal may have another reader.
func (k *Keyboard) readSome(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.done:
		return 0, os.ErrClosed
	default:
	}
	if k.paused {
		k.mu.Unlock()
		time.Sleep(20 * time.Millisecond)
		k.mu.Lock()
		return 0, nil
	}
	n, err := unix.Read(int(k.file.Fd()), b)
	if n == 0 && err == nil { // nothing was typed, or the terminal is gone
		_, err = unix.IoctlGetTermios(int(k.file.Fd()), readTermios)
	}
	return n, err
}

// decoder turns the bytes of a terminal into keys. It keeps the beginning of a character.
type decoder struct {
	rest    []byte
	pasting bool // between the marks of a paste
	silence int  // reads in a row without a byte
}

// pasteSilence is the number of reads without a byte, a tenth of a second each, after which a paste whose end was lost is
// over.
const pasteSilence = 20

// named are the sequences of the keys that have a name.
var named = map[string]KeyName{
	"[A": Up, "OA": Up, "[B": Down, "OB": Down, "[5~": PageUp, "[6~": PageDown,
}

// decode returns the keys of the bytes. No bytes mean that nothing came for a while: an escape that stands
// alone is then the key of that name.
func (d *decoder) decode(b []byte) (keys []Key) {
	quiet := len(b) == 0
	if d.silence++; !quiet {
		d.silence = 0
	}
	d.pasting = d.pasting && d.silence < pasteSilence
	d.rest = append(d.rest, b...)
	for len(d.rest) > 0 {
		key, n := nextKey(d.rest, quiet)
		if n == 0 {
			return keys
		}
		typed := string(d.rest[:n])
		d.rest = d.rest[n:]
		switch {
		case typed == pasteBegins:
			d.pasting = true
		case typed == pasteEnds:
			d.pasting = false
		case !d.pasting, key.Char != 0:
			keys = append(keys, key)
		case key.Name == Enter:
			keys = append(keys, Key{Char: ' '})
		}
	}
	return keys
}

// nextKey returns the first key and its length; zero if more bytes are needed.
func nextKey(b []byte, quiet bool) (Key, int) {
	switch c := b[0]; {
	case c == 0x1b:
		return escapeKey(b, quiet)
	case c == '\r' || c == '\n':
		return Key{Name: Enter}, 1
	case c == 0x7f || c == 0x08:
		return Key{Name: Backspace}, 1
	case c == 0x15:
		return Key{Name: EraseLine}, 1
	case c == 0x17:
		return Key{Name: EraseWord}, 1
	case c == 0x04:
		return Key{Name: EndInput}, 1
	case c == '\t':
		return Key{Char: ' '}, 1
	case c < ' ':
		return Key{Name: Other}, 1
	}
	if !utf8.FullRune(b) && !quiet {
		return Key{}, 0
	}
	r, n := utf8.DecodeRune(b)
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return Key{Name: Other}, n
	}
	return Key{Char: r}, n
}

// escapeKey reads the sequence of a key that has a name.
func escapeKey(b []byte, quiet bool) (Key, int) {
	if len(b) == 1 || b[1] != '[' && b[1] != 'O' {
		if len(b) == 1 && !quiet {
			return Key{}, 0
		}
		return Key{Name: Escape}, 1
	}
	for i := 2; i < len(b); i++ {
		if b[i] >= 0x40 && b[i] <= 0x7e { // the end of a sequence
			if name, ok := named[string(b[1:i+1])]; ok {
				return Key{Name: name}, i + 1
			}
			return Key{Name: Other}, i + 1
		}
	}
	if quiet {
		return Key{Name: Other}, len(b)
	}
	return Key{}, 0
}

// Typed is a line that a person is typing.
type Typed struct{ text []rune }

// maxTyped bounds the characters of one line.
const maxTyped = 16 << 10

// Press changes the line by a key. It reports whether the key ends the line.
func (t *Typed) Press(k Key) (ended bool) {
	switch {
	case k.Char != 0:
		if len(t.text) < maxTyped {
			t.text = append(t.text, k.Char)
		}
	case k.Name == Backspace:
		t.text = t.text[:max(len(t.text)-1, 0)]
	case k.Name == EraseLine:
		t.text = nil
	case k.Name == EraseWord:
		text := strings.TrimRight(string(t.text), " ")
		t.text = []rune(text[:strings.LastIndexByte(text, ' ')+1])
	case k.Name == Enter:
		return true
	}
	return false
}

// String returns the text.
func (t *Typed) String() string { return string(t.text) }

// Take returns the text without blanks around it, and begins a new line.
func (t *Typed) Take() string {
	text := strings.TrimSpace(string(t.text))
	t.text = nil
	return text
}

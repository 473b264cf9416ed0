package review

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/ratchet-dev/ratchet/internal/engine"
)

// FileName is the name of the file in the runs directory that says how to reach the page.
const FileName = "review.json"

// Place says how to reach a page and holds its key.
type Place struct {
	URL     string `json:"url"`     // that links begin with
	Address string `json:"address"` // host:port at this machine
	Port    int    `json:"port"`
	PID     int    `json:"pid"` // of the process that serves it
	Key     Key    `json:"key"`
	TLS     bool   `json:"tls,omitempty"`   // Address speaks TLS
	WebUI   bool   `json:"webUI,omitempty"` // the Web UI is served at UIPath
}

// Write puts the file into the runs directory, for this user alone.
func (p Place) Write(runsDir string) error { return engine.WriteOwn(runsDir, FileName, p) }

// ErrNotServed reports a runs directory without a page that answers.
var ErrNotServed = errors.New("no review page is served here: `starter up` serves one, and `worker --review " + DefaultAddress + "`")

// ReadPlace returns the page of a runs directory. A file that another user may have written is not believed, and
// neither is one whose page does not prove that it holds the key.
func ReadPlace(ctx context.Context, runsDir string) (Place, error) {
	var p Place
	err := engine.ReadOwn(runsDir, FileName, &p)
	if errors.Is(err, fs.ErrNotExist) {
		return p, ErrNotServed
	}
	if err != nil {
		return p, err
	}
	return p, p.proveHolder(ctx)
}

const provePatience = 5 * time.Second

// proveHolder asks what listens at the address whether it holds the key.
func (p Place) proveHolder(ctx context.Context) error {
	nonce := rand.Text()
	code, err := p.ask(ctx, http.MethodGet, proofPath+"?"+url.Values{"nonce": {nonce}}.Encode(), "")
	if errors.Is(err, ErrNotServed) {
		return err
	}
	if err != nil || !p.Key.verifies(code, proofLabel, nonce, strconv.Itoa(p.Port)) {
		return fmt.Errorf("another program listens at %s: %w", p.Address, ErrNotServed)
	}
	return nil
}

// ask sends a request to what listens at the address and returns the answer.
func (p Place) ask(ctx context.Context, method, path, body string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, provePatience)
	defer cancel()
	scheme := "http://"
	if p.TLS {
		scheme = "https://"
	}
	req, err := http.NewRequestWithContext(ctx, method, scheme+p.Address+path, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Host = "127.0.0.1:" + strconv.Itoa(p.Port)
	req.Header.Set("Origin", scheme+req.Host)
	// A code proves who answers. The certificate is for a name that only browsers use.
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return "", ErrNotServed
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxCode))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.New(string(answer))
	}
	return string(answer), err
}

// Short returns a short link in place of a login link of this page, which has proved that it holds the key; the link
// itself if the page makes none.
func (p Place) Short(ctx context.Context, link string) string {
	_, fragment, _ := strings.Cut(link, "#")
	if short, err := p.ask(ctx, http.MethodPost, linksPath, fragment); err == nil {
		return short
	}
	return link
}

// LoginOwner returns a link as Login does. It opens the Web UI, too.
func (p Place) LoginOwner(name, path string, now time.Time) string {
	return p.Login(ownerMark+name, path, now)
}

// Login returns a link that opens the page for a person once, before now + LoginLife. path is absolute.
func (p Place) Login(name, path string, now time.Time) string {
	return p.URL + loginPath + "#" + p.Key.loginCode(name, now.Add(LoginLife)) + path
}

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
	ctx, cancel := context.WithTimeout(ctx, provePatience)
	defer cancel()
	nonce, scheme := rand.Text(), "http://"
	if p.TLS {
		scheme = "https://"
	}
	target := scheme + p.Address + proofPath + "?" + url.Values{"nonce": {nonce}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	req.Host = "127.0.0.1:" + strconv.Itoa(p.Port)
	// The code proves who answers. The certificate is for a name that only browsers use.
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return ErrNotServed
	}
	defer resp.Body.Close()
	code, err := io.ReadAll(io.LimitReader(resp.Body, maxNonce))
	if err != nil || !p.Key.verifies(string(code), proofLabel, nonce, strconv.Itoa(p.Port)) {
		return fmt.Errorf("another program listens at %s: %w", p.Address, ErrNotServed)
	}
	return nil
}

// LoginOwner returns a link as Login does. It opens the Web UI, too.
func (p Place) LoginOwner(name, path string, now time.Time) string {
	return p.Login(ownerMark+name, path, now)
}

// Login returns a link that opens the page for a person once, before now + LoginLife. path is absolute.
func (p Place) Login(name, path string, now time.Time) string {
	return p.URL + loginPath + "#" + p.Key.loginCode(name, now.Add(LoginLife)) + path
}

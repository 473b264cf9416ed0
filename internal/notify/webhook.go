package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Secret is the key by which the bodies of webhooks are signed, 24 to 64 bytes.
type Secret []byte

// String hides the secret from logs and messages.
func (Secret) String() string { return "[secret]" }

// ParseSecret reads a secret as Standard Webhooks writes one: whsec_ and base64.
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
func ParseSecret(text string) (Secret, error) {
	encoded, ok := strings.CutPrefix(text, "whsec_")
	b, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(b) < 24 || len(b) > 64 {
		return nil, errors.New("want whsec_ and 24 to 64 random bytes in base64, as `echo whsec_$(head -c 32 /dev/urandom | base64)` makes one")
	}
	return b, nil
}

// The headers of a signed webhook.
const (
	HeaderID        = "webhook-id"
	HeaderTimestamp = "webhook-timestamp"
	HeaderSignature = "webhook-signature"
)

// Sign returns the value of the signature's header for a body that is sent at a time.
func (s Secret) Sign(id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, s)
	fmt.Fprintf(mac, "%s.%d.", id, at.Unix())
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// Timestamp returns the value of the timestamp's header.
func Timestamp(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// Body returns the body of a webhook.
func (n Notice) Body(link string, answers ...Answer) ([]byte, error) {
	type data struct {
		Notice
		Title string `json:"title"`
		Link  string `json:"link,omitempty"`
		// Answers decide without the page.
		Answers []Answer `json:"answers,omitempty"`
	}
	return json.Marshal(struct {
		Type      Kind      `json:"type"`
		Timestamp time.Time `json:"timestamp"`
		Data      data      `json:"data"`
	}{n.Kind, n.At, data{n, n.Title(), link, answers}})
}

// CheckURL returns an error for a URL that no webhook is sent to. A notice leaves this machine by TLS, to a server
// whose certificate has the name of the URL: a name that is made to lead to another service, of this machine or of its
// network, does not get it. Only an address of the loopback interface may go without.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return errors.New("it is not a URL")
	}
	addr, _ := netip.ParseAddr(u.Hostname())
	switch {
	case u.User != nil:
		return errors.New("remove the password: the body is signed instead")
	case u.Scheme == "https", u.Scheme == "http" && addr.IsLoopback():
		return nil
	}
	return errors.New("want https, or http to an address of this machine such as http://127.0.0.1:8080/")
}

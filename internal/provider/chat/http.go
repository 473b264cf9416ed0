package chat

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
)

// Client returns client, or http.DefaultClient for nil, without redirects. A redirect would take the
// prompt, and a key in a header of its own, to another host.
func Client(client *http.Client) *http.Client {
	bound := *cmp.Or(client, http.DefaultClient)
	bound.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &bound
}

// CheckURL returns why text cannot be the base URL of an API. An empty text stands for the API's own URL.
func CheckURL(text string) error {
	if text == "" {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return errors.New("not a URL such as https://host/path")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("a base URL has neither a query nor a fragment")
	case u.User != nil:
		return errors.New("a base URL holds no credentials")
	}
	return nil
}

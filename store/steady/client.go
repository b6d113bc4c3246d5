package steady

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/headrace/headrace/store"
)

// Ask says how an object is asked for.
type Ask struct {
	Host string // by which requests are paced
	// Request makes a request with these headers, the object's address and credentials:
	// a GET, unless it is for [Client.Send]. It is called for each try, as signatures
	// have a date. Errors end the read.
	Request func(ctx context.Context, header http.Header) (*http.Request, error)
	// Version returns the version in an answer with an object of some size. Then Request
	// asks for one by itself, if it can. nil: ETags are asked for, or else dates.
	Version func(header http.Header, size int64) string
	// Status returns what an answer to [Client.Send] should have had as its status, if
	// its body tells; nil: the status says all.
	Status func(body []byte) int
}

func (a Ask) version(header http.Header, size int64) string {
	if a.Version != nil {
		return a.Version(header, size)
	}
	return Version(header, size)
}

// Client sends requests, to any number of hosts.
type Client struct {
	http *http.Client

	mu    sync.Mutex // guards what is below
	hosts map[string]*host
}

// New returns a client. If follows is set, it goes where hosts redirect it to, as far as
// [redirected] allows.
func New(t http.RoundTripper, follows bool) *Client {
	c := &Client{http: &http.Client{Transport: t, CheckRedirect: redirected}, hosts: map[string]*host{}}
	if !follows {
		c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	store.CountBy(c.Counts)
	return c
}

const (
	toConnect   = 10 * time.Second
	toFirstByte = 30 * time.Second
	toNextByte  = 10 * time.Second
	toContinue  = time.Second // after which a body is sent to a host that has not asked for it

	mostHeader = 1 << 20 // bytes of an answer's headers
)

// Transport returns the transport for hosts of the network. It uses the proxies of
// HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and the certificates of SSL_CERT_FILE and
// SSL_CERT_DIR, as all Go programs.
func Transport() *http.Transport {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: toConnect, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:    toConnect,
		ResponseHeaderTimeout:  toFirstByte,
		MaxResponseHeaderBytes: mostHeader,
		ExpectContinueTimeout:  toContinue,
		MaxIdleConnsPerHost:    mostAtOnce,
		IdleConnTimeout:        time.Minute,
		DisableCompression:     true, // ranges are of the bytes as they are stored
		Protocols:              new(http.Protocols),
	}
	// All requests of HTTP/2 share one connection, whose loss and pace they share, too.
	t.Protocols.SetHTTP1(true)
	return t
}

// mostRedirects is the number of redirects of one request.
const mostRedirects = 10

// redirected checks a redirect. Credentials are for the host they were made for; and no
// host can have a file read here, or a request sent in the clear.
func redirected(to *http.Request, via []*http.Request) error {
	from := via[len(via)-1].URL
	switch {
	case len(via) > mostRedirects:
		return &final{fmt.Errorf("more than %d redirects, the last from %s to %s", mostRedirects, from.Host, to.URL.Host)}
	case to.URL.Scheme != "https" && to.URL.Scheme != "http":
		return &final{fmt.Errorf("%s redirects to %s://, which is not of the web", from.Host, to.URL.Scheme)}
	case from.Scheme == "https" && to.URL.Scheme == "http":
		return &final{fmt.Errorf("%s redirects from https:// to http://, where all can read it", from.Host)}
	}
	if to.URL.Host != via[0].URL.Host {
		for name := range to.Header {
			if name == "Authorization" || name == "Cookie" || strings.HasPrefix(name, "X-") {
				to.Header.Del(name)
			}
		}
	}
	return nil
}

// host returns the host of a request.
func (c *Client) host(name string) *host {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.hosts[name]
	if h == nil {
		h = newHost(name)
		c.hosts[name] = h
	}
	return h
}

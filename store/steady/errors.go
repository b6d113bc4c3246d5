package steady

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Refusal is an answer that has no object. It is also a [syscall.Errno], if one means the
// same: ENOENT of 404, EACCES of 401 and 403.
type Refusal struct {
	Host   string
	Status int
	Header http.Header
	Body   []byte // its beginning
}

// Error implements error. Services that explain their answers say more.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s answers %d %s", r.Host, r.Status, http.StatusText(r.Status))
}

// Is implements the interface of [errors.Is].
func (r *Refusal) Is(target error) bool {
	n, ok := target.(syscall.Errno)
	return ok && n == r.errno() || r.errno() != 0 && r.errno().Is(target)
}

// As implements the interface of [errors.As].
func (r *Refusal) As(target any) bool {
	n, ok := target.(*syscall.Errno)
	if ok = ok && r.errno() != 0; ok {
		*n = r.errno()
	}
	return ok
}

func (r *Refusal) errno() syscall.Errno {
	switch r.Status {
	case http.StatusNotFound, http.StatusGone:
		return syscall.ENOENT
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return syscall.EACCES
	}
	if r.isTemporary() {
		return syscall.EREMOTEIO
	}
	return 0
}

func (r *Refusal) isTemporary() bool {
	switch r.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// asksForTime tells whether a host that answers so is to be left alone, and for how long
// if it says so.
func asksForTime(err error) (wait time.Duration, ok bool) {
	var r *Refusal
	if !errors.As(err, &r) || r.Status != http.StatusTooManyRequests && r.Status != http.StatusServiceUnavailable {
		return 0, false
	}
	return waitOf(r.Header), true
}

// waitOf is the time that an answer asks for: in Retry-After, in seconds or as a date, or
// the t of RateLimit; 0: it says nothing.
func waitOf(h http.Header) time.Duration {
	after := h.Get("Retry-After")
	if seconds, err := strconv.ParseUint(after, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(after); err == nil {
		return max(0, time.Until(at))
	}
	for part := range strings.FieldsFuncSeq(h.Get("RateLimit"), func(c rune) bool { return c == ';' || c == ',' }) {
		if t, ok := strings.CutPrefix(strings.TrimSpace(part), "t="); ok {
			seconds, _ := strconv.ParseUint(t, 10, 31)
			return time.Duration(seconds) * time.Second
		}
	}
	return 0
}

// blames tells whether an error is one of the host or the way to it: no answer, or a
// temporary refusal. An answer that refuses for good is an answer.
func blames(err error) bool {
	var r *Refusal
	switch {
	case err == nil:
		return false
	case errors.As(err, &r):
		return r.isTemporary()
	}
	return !isFinal(err)
}

// Unreachable is the error of a host that could not be read from, after all tries.
type Unreachable struct {
	Host  string
	Tries int
	Over  time.Duration
	Err   error // of the last try
}

// Error implements error.
func (u *Unreachable) Error() string {
	if u.Tries == 1 {
		return fmt.Sprintf("%s: %v", u.Host, u.Err)
	}
	return fmt.Sprintf("%s: %v (after %d tries in %v)", u.Host, u.Err, u.Tries, u.Over.Round(time.Second/10))
}

// Unwrap returns the errors that it is: that of the last try, and one of the network.
func (u *Unreachable) Unwrap() []error {
	var n syscall.Errno
	if errors.As(u.Err, &n) {
		return []error{u.Err}
	}
	return []error{u.Err, syscall.EREMOTEIO}
}

// ErrNoHost marks a host that the network does not know.
var ErrNoHost = errors.New("there is no host of this name")

// final is an error that no other try can mend.
type final struct{ error }

func (f *final) Unwrap() error { return f.error }

func isFinal(err error) bool {
	var f *final
	return errors.As(err, &f)
}

// meant returns an error of a request as people read it: without the URL, which may have
// a secret, and final if no other try can mend it. A host that has answered before has a
// name.
func (h *host) meant(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	var invalid x509.CertificateInvalidError
	_, known := h.known()
	switch {
	case errors.As(err, &certificate), errors.As(err, &invalid):
		return &final{&Unreachable{h.name, 1, 0, fmt.Errorf("%w: set SSL_CERT_FILE if your own authority has certified the host", err)}}
	case errors.As(err, &name) && name.IsNotFound && !known:
		return &final{&Unreachable{h.name, 1, 0, ErrNoHost}}
	case isTimeout(err) && !errors.Is(err, syscall.ETIMEDOUT):
		return fmt.Errorf("%w: %v", syscall.ETIMEDOUT, err) // not one of the context
	}
	return err
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

package metrics

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/headrace/headrace/internal/otlp"
)

// Address is a place for metrics, with the names of the loader.
type Address struct {
	Listen string // HOST:PORT, where a Prometheus asks; "": they are sent
	Send   string // the address of a receiver of OTLP, such as http://127.0.0.1:4318
	Traces int    // of samples, that are sent in a minute
	Labels Labels
}

// ErrAddress wraps errors of ParseAddress.
var ErrAddress = errors.New("metrics")

// ParseAddress reads an address at which metrics are served, such as
// prometheus://127.0.0.1:9464?loader=train&job=night, or one to which they are sent, such
// as otlp://127.0.0.1:4318?traces=6. Without a job it is that of Slurm or torchrun.
func ParseAddress(text string) (a Address, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return Address{}, wrong(text, "cannot be read")
	}
	switch u.Scheme {
	case "prometheus":
		a.Listen, err = listenAt(text, u)
	case "otlp", "otlps":
		a.Send, err = sendTo(text, u)
	default:
		err = wrong(text, "its scheme is not prometheus, otlp or otlps")
	}
	if err != nil {
		return Address{}, err
	}
	if err := a.parseQuery(text, u.RawQuery); err != nil {
		return Address{}, err
	}
	if a.Labels.Job == "" {
		a.Labels.Job = jobHere()
	}
	return a, nil
}

func wrong(text, what string) error {
	return fmt.Errorf("%w is %q: %s: must be like prometheus://127.0.0.1:9464 or otlp://127.0.0.1:4318", ErrAddress, text, what)
}

func listenAt(text string, u *url.URL) (string, error) {
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case u.Hostname() == "":
		return "", wrong(text, "has no host, such as 127.0.0.1 for this machine alone, or 0.0.0.0 for others, too")
	case err != nil || port == 0:
		return "", wrong(text, "has no port")
	case strings.Trim(u.Path, "/") != "" || u.User != nil || u.Fragment != "":
		return "", wrong(text, "has more than a host, a port, and ?loader=…&job=…")
	}
	return net.JoinHostPort(u.Hostname(), u.Port()), nil
}

// sendTo returns the address of a receiver. One without a host is that of the
// environment, as OpenTelemetry's own programs have it.
func sendTo(text string, u *url.URL) (string, error) {
	to := ""
	switch {
	case u.User != nil || u.Fragment != "":
		return "", wrong(text, "has more than a host, a port, a path, and ?loader=…&job=…&traces=…; "+
			"headers are in OTEL_EXPORTER_OTLP_HEADERS")
	case u.Host == "" && strings.Trim(u.Path, "/") != "":
		return "", wrong(text, "has a path and no host")
	case u.Host != "" && u.Port() == "":
		return "", wrong(text, "has no port")
	case u.Host != "":
		scheme := map[string]string{"otlp": "http", "otlps": "https"}[u.Scheme]
		to = scheme + "://" + u.Host + strings.TrimRight(u.EscapedPath(), "/")
	}
	receiver, err := otlp.Find(to)
	if err != nil {
		return "", fmt.Errorf("%w is %q: %w", ErrAddress, text, err)
	}
	return receiver.URL, nil
}

// mostOften bounds the traces of a minute.
const mostOften = 60

func (a *Address) parseQuery(text, raw string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return wrong(text, "cannot be read")
	}
	for name, values := range query {
		value := values[0]
		switch {
		case name == "loader":
			a.Labels.Loader = value
		case name == "job":
			a.Labels.Job = value
		case name == "traces" && a.Send != "":
			if a.Traces, err = strconv.Atoi(value); err != nil || a.Traces < 0 || a.Traces > mostOften {
				return wrong(text, fmt.Sprintf("traces= must be samples a minute, 0 to %d", mostOften))
			}
		case name == "traces":
			return wrong(text, "has traces=, which Prometheus does not read")
		default:
			return wrong(text, fmt.Sprintf("has %s=, and only loader=, job= and, with otlp, traces= have a meaning", name))
		}
		if len(value) > mostLabel || strings.ContainsAny(value, "\x00\n") {
			return wrong(text, fmt.Sprintf("%s= is longer than %d bytes, or of several lines", name, mostLabel))
		}
	}
	return nil
}

const mostLabel = 100

// jobHere returns the run of Slurm or torchrun; "": none.
func jobHere() string {
	for _, name := range []string{"SLURM_JOB_ID", "TORCHELASTIC_RUN_ID"} {
		if job := os.Getenv(name); job != "" && job != "none" && len(job) <= mostLabel { // torchrun's default
			return job
		}
	}
	return ""
}

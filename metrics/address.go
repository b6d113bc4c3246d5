package metrics

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
)

// Address is a place to serve metrics, with the names of the loader.
type Address struct {
	Listen string // HOST:PORT
	Labels Labels
}

// ErrAddress wraps errors of ParseAddress.
var ErrAddress = errors.New("metrics")

// ParseAddress reads an address such as
// prometheus://127.0.0.1:9464?loader=train&job=night. Without a job it is that of Slurm
// or torchrun.
func ParseAddress(text string) (a Address, err error) {
	wrong := func(what string) (Address, error) {
		return Address{}, fmt.Errorf("%w is %q: %s: must be like prometheus://127.0.0.1:9464", ErrAddress, text, what)
	}
	u, err := url.Parse(text)
	if err != nil {
		return wrong("cannot be read")
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case u.Scheme != "prometheus":
		return wrong("its scheme is not prometheus")
	case u.Hostname() == "":
		return wrong("has no host, such as 127.0.0.1 for this machine alone, or 0.0.0.0 for others, too")
	case err != nil || port == 0:
		return wrong("has no port")
	case strings.Trim(u.Path, "/") != "" || u.User != nil || u.Fragment != "":
		return wrong("has more than a host, a port, and ?loader=…&job=…")
	}

	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return wrong("cannot be read")
	}
	for name, values := range query {
		switch name {
		case "loader":
			a.Labels.Loader = values[0]
		case "job":
			a.Labels.Job = values[0]
		default:
			return wrong(fmt.Sprintf("has %s=, and only loader= and job= have a meaning", name))
		}
		if len(values[0]) > mostLabel || strings.ContainsAny(values[0], "\x00\n") {
			return wrong(fmt.Sprintf("%s= is longer than %d bytes, or of several lines", name, mostLabel))
		}
	}
	a.Listen = net.JoinHostPort(u.Hostname(), u.Port())
	if a.Labels.Job == "" {
		a.Labels.Job = jobHere()
	}
	return a, nil
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

package otlp

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Receiver has the address of a receiver, and the names of this program.
type Receiver struct {
	URL        string // such as http://127.0.0.1:4318
	Headers    map[string]string
	Attributes map[string]string // of this program, without a name of the service if none is given
	Every      time.Duration     // between two messages with metrics
}

// Variables of OpenTelemetry's specification.
const (
	endpointVariable   = "OTEL_EXPORTER_OTLP_ENDPOINT"
	headersVariable    = "OTEL_EXPORTER_OTLP_HEADERS"
	attributesVariable = "OTEL_RESOURCE_ATTRIBUTES"
	serviceVariable    = "OTEL_SERVICE_NAME"
	intervalVariable   = "OTEL_METRIC_EXPORT_INTERVAL"
)

const (
	usualEndpoint = "http://localhost:4318"
	usualEvery    = 15 * time.Second // a program may run for minutes only
	leastEvery    = 100 * time.Millisecond
)

// Find returns the receiver at an address such as http://127.0.0.1:4318, with the
// settings of the environment; "": that of the environment.
func Find(address string) (r Receiver, err error) {
	r = Receiver{URL: address, Every: usualEvery, Attributes: map[string]string{}}
	if address == "" {
		if r.URL, err = endpoint(); err != nil {
			return Receiver{}, err
		}
	}

	if r.Headers, err = pairs(headersVariable); err != nil {
		return Receiver{}, err
	}
	if r.Attributes, err = pairs(attributesVariable); err != nil {
		return Receiver{}, err
	}
	if name := os.Getenv(serviceVariable); name != "" {
		r.Attributes[serviceName] = name
	}

	if text := os.Getenv(intervalVariable); text != "" {
		ms, err := strconv.ParseInt(text, 10, 32)
		if err != nil || ms <= 0 {
			return Receiver{}, fmt.Errorf("%s is %q: must be milliseconds above 0", intervalVariable, text)
		}
		r.Every = max(leastEvery, time.Duration(ms)*time.Millisecond)
	}
	return r, nil
}

func endpoint() (string, error) {
	text := os.Getenv(endpointVariable)
	if text == "" {
		return usualEndpoint, nil
	}
	u, err := url.Parse(text)
	isWeb := err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	if !isWeb || u.RawQuery != "" || u.User != nil {
		return "", fmt.Errorf("%s is %q: must be like %s", endpointVariable, text, usualEndpoint)
	}
	return strings.TrimRight(text, "/"), nil
}

// pairs reads a variable such as a=1,b=two%20words. Its value is not repeated in errors:
// it may be a password.
func pairs(variable string) (map[string]string, error) {
	all := map[string]string{}
	for part := range strings.SplitSeq(os.Getenv(variable), ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		name, text, ok := strings.Cut(part, "=")
		value, err := url.PathUnescape(strings.TrimSpace(text))
		name = strings.TrimSpace(name)
		if err == nil && (!ok || name == "" || strings.ContainsAny(name+value, "\r\n")) {
			err = errors.New("it is not name=value")
		}
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: must be like name=value,other=value, with %%2C for a comma in a value", variable)
		}
		all[name] = value
	}
	return all, nil
}

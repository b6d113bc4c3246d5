package store_test

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"io"
	"os/exec"
	"testing"
)

// oracle is a Python that answers what its own modules find.
type oracle struct {
	in  io.WriteCloser
	out *bufio.Reader
}

type request struct {
	What     string   `json:"what"`
	CD       string   `json:"cd,omitempty"`
	Pattern  string   `json:"pattern"`
	Names    []string `json:"names,omitempty"`
	Suffixes []string `json:"suffixes,omitempty"`
}

func startOracle(t *testing.T) *oracle {
	t.Helper()
	python := exec.Command("python3", "-I", "testdata/oracle.py")
	in, err := python.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := python.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := python.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := python.Wait(); err != nil {
			t.Errorf("python3: %v", err)
		}
	})
	return &oracle{in, bufio.NewReader(out)}
}

type fatal interface {
	Helper()
	Fatalf(string, ...any)
}

func (o *oracle) ask(t fatal, r request, answer any) {
	t.Helper()
	line, err := json.Marshal(r)
	if err == nil {
		_, err = o.in.Write(append(line, '\n'))
	}
	if err == nil {
		line, err = o.out.ReadBytes('\n')
	}
	if err == nil {
		err = json.Unmarshal(line, answer)
	}
	if err != nil {
		t.Fatalf("python3: %v", err)
	}
}

// paths asks for a list of paths.
func (o *oracle) paths(t fatal, r request) []string {
	t.Helper()
	var answer []string
	o.ask(t, r, &answer)
	for i, p := range answer {
		b, err := hex.DecodeString(p)
		if err != nil {
			t.Fatalf("python3: %v", err)
		}
		answer[i] = string(b)
	}
	return answer
}

func digits(s string) string { return hex.EncodeToString([]byte(s)) }

package order_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"
)

type (
	permutationRequest struct {
		What   string  `json:"what"`
		N      int64   `json:"n"`
		Seed   uint64  `json:"seed"`
		Epoch  int     `json:"epoch"`
		Places []int64 `json:"places"`
	}
	drawRequest struct {
		What    string  `json:"what"`
		Seed    uint64  `json:"seed"`
		Epoch   int     `json:"epoch"`
		Source  string  `json:"source"`
		Index   int64   `json:"index"`
		Outputs []int64 `json:"outputs"`
		Op      string  `json:"op"`
		Number  uint32  `json:"number"`
	}
	splitRequest struct {
		What     string `json:"what"`
		Samples  int64  `json:"samples"`
		Batch    int64  `json:"batch"`
		World    int    `json:"world"`
		DropLast bool   `json:"drop_last"`
	}
)

// reference asks testdata/reference.py, an implementation of its own, and returns its
// answers.
func reference[Answer, Request any](t *testing.T, requests []Request) []Answer {
	t.Helper()
	var in, out, stderr bytes.Buffer
	w := json.NewEncoder(&in)
	for _, r := range requests {
		if err := w.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	python := exec.Command("python3", "-I", "testdata/reference.py")
	python.Stdin, python.Stdout, python.Stderr = &in, &out, &stderr
	if err := python.Run(); err != nil {
		t.Fatalf("python3: %v\n%s", err, &stderr)
	}
	answers := make([]Answer, len(requests))
	d := json.NewDecoder(&out)
	for i := range answers {
		if err := d.Decode(&answers[i]); err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
	}
	return answers
}

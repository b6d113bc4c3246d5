package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/doctor"
	"github.com/headrace/headrace/internal/version"
)

// The program that tests run is built without C; python/tests asks the one that ships.
func TestVersion(t *testing.T) {
	text, err := exec.Command(program(t), "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"headrace " + version.Version + " (commit ", ", without C)\n", "pixels:   plain Go\n", "decoders: bmp=go gif=go jpeg=go ", "encoders: jpeg=go png=go\n", "ffmpeg:   none: only programs with C open FFmpeg\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	said, err := exec.Command(program(t), "version", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var b version.Build
	if err := json.Unmarshal(said, &b); err != nil {
		t.Fatal(err)
	}
	if b.Version != version.Version || b.Commit == "" || b.Features.Cgo || b.Features.Decoders["jpeg"] != "go" {
		t.Errorf("%s", said)
	}
	if err := exec.Command(program(t), "version", "more").Run(); err == nil {
		t.Error("an argument that nobody takes is taken")
	}
}

func TestWhatABuildPrints(t *testing.T) {
	var s strings.Builder
	d := description{FFmpeg: &doctor.FFmpeg{Version: "7", License: "LGPL", Path: "/a"}, Build: version.Build{Version: "1.2.3", Commit: "abc", Go: "go1", Platform: "linux/arm64", Features: version.Features{
		Cgo: true, Debug: true, Kernels: "plain", Decoders: map[string]string{"png": "b", "jpeg": "a"}, Encoders: map[string]string{"jpeg": "c"},
	}}}
	err := d.print(&s)
	want := "headrace 1.2.3 (commit abc, linux/arm64, go1, debug build)\npixels:   plain\ndecoders: jpeg=a png=b\nencoders: jpeg=c\nffmpeg:   7, LGPL, /a\n"
	if err != nil || s.String() != want {
		t.Errorf("%v %q", err, s.String())
	}
}

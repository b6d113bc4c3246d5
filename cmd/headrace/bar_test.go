package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// Colours, as terminals take them.
const green, red = "\x1b[32m", "\x1b[31m"

func TestBar(t *testing.T) {
	p := progress{epoch: 1, epochs: 3, samples: 1200, lost: 34, perEpoch: 2400, total: 3600, totalLost: 36}
	s := &speed{rate: 801.4}
	for width, want := range map[int]string{
		110: "epoch 2/3  ━━━━━━━━━━━━━━━━━━━━────────────────────   51 %  36 lost  801 samples/s  0:04 left  1,200/2,400",
		79:  "epoch 2/3  ━━━━━━───────   51 %  36 lost  801 samples/s  0:04 left  1,200/2,400",
		60:  "epoch 2/3  ━━━━━━━━━─────────   51 %  36 lost  801 samples/s",
		50:  "epoch 2/3  ━━━━────   51 %  36 lost  801 samples/s",
		40:  "epoch 2/3  ━━━━━━───────   51 %  36 lost",
		30:  "epoch 2/3  ━━━━━━──────   51 %",
		20:  "epoch 2/3  51 %",
		5:   "epoch",
		0:   "",
	} {
		got := bar(p, s, width, false)
		if got != want {
			t.Errorf("in %d characters:\n%s\n%s", width, got, want)
		}
	}
	if got := bar(p, s, 79, true); !strings.Contains(got, green+"━") || !strings.Contains(got, red+"36 lost"+plain) {
		t.Errorf("%q has no colours", got)
	}
}

func TestAnyBarFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Range(0, 1<<50)
		p := progress{
			epochs: rapid.IntRange(0, 1<<30).Draw(t, "epochs"), samples: n.Draw(t, "samples"), lost: n.Draw(t, "lost"), perEpoch: n.Draw(t, "perEpoch"),
			total: n.Draw(t, "total"), totalLost: n.Draw(t, "totalLost"),
		}
		p.epoch = rapid.IntRange(0, p.epochs).Draw(t, "epoch")
		s := &speed{rate: rapid.Float64Range(0, 1e12).Draw(t, "rate")}
		width := rapid.IntRange(0, 200).Draw(t, "width")
		got := bar(p, s, width, false)
		if utf8.RuneCountInString(got) > width || strings.ContainsAny(got, "\n\r\x1b") {
			t.Fatalf("in %d characters: %q", width, got)
		}
		coloured := strings.NewReplacer(green, "", red, "", plain, "").Replace(bar(p, s, width, true))
		if coloured != got {
			t.Fatalf("in colours it is another: %q, %q", coloured, got)
		}
	})
}

// terminal is a pseudo terminal of a width, and all that is written to it, once its
// other end is closed.
func terminal(t *testing.T, columns uint16) (slave *os.File, read func() string) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	master := os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	all := make(chan string)
	go func() {
		var b bytes.Buffer
		b.ReadFrom(master) // ends with EIO when nobody has the other end open
		all <- b.String()
	}()
	return slave, func() string {
		slave.Close()
		return <-all
	}
}

// drawn is how a bar begins, instead of the one before.
var drawn = regexp.MustCompile("\r\x1b\\[Kepoch [0-9]+/")

func TestRunOnATerminal(t *testing.T) {
	for _, c := range []struct {
		name        string
		columns     uint16
		environment string
		args        []string
		bar, colour bool
	}{
		{"wide", 120, "TERM=xterm", nil, true, true},
		{"narrow", 24, "TERM=xterm", nil, true, false},
		{"unknown width", 0, "TERM=xterm", nil, true, true},
		{"no colours", 120, "NO_COLOR=1", nil, true, false},
		{"dumb", 120, "TERM=dumb", nil, false, false},
		{"quiet", 120, "TERM=xterm", []string{"--quiet"}, false, false},
		{"json", 120, "TERM=xterm", []string{"--json"}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			slave, read := terminal(t, c.columns)
			run := exec.Command(program(t), append([]string{"run", "r.yaml", "--epochs", "1000000000"}, c.args...)...)
			run.Dir = photographs(t, "")
			run.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", c.environment)
			run.Stderr = slave
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			time.Sleep(400 * time.Millisecond) // for some bars
			run.Process.Signal(os.Interrupt)
			run.Wait()
			said := read()
			bars := len(drawn.FindAllString(said, -1))
			if c.bar != strings.Contains(said, "━") && c.columns != 24 {
				t.Errorf("a bar: %v\n%.2000q", !c.bar, said)
			}
			if c.bar && (bars < 1 || !strings.Contains(said, "\r\x1b[Kheadrace: interrupted in")) {
				t.Errorf("%d bars, or one that was left:\n%q", bars, said[max(0, len(said)-500):])
			}
			if most := int(time.Since(begun)/(time.Second/10)) + 1; bars > most {
				t.Errorf("%d bars where %d should do", bars, most)
			}
			if strings.Contains(said, green) != c.colour {
				t.Errorf("colours: %v", !c.colour)
			}
			if c.name == "narrow" {
				for part := range strings.SplitSeq(said, "\r\x1b[K") {
					if line, rest, _ := strings.Cut(part, "\r\n"); strings.HasPrefix(line, "epoch ") && rest == "" && !strings.Contains(line, " of ") && utf8.RuneCountInString(line) > 23 {
						t.Errorf("%q is too long", line)
					}
				}
			}
		})
	}
}

// Where nobody knows how many samples there are, there is no share of them, and no end
// that can be foretold.
func TestProgressOfWhatHasNoEnd(t *testing.T) {
	p := progress{epoch: 1, epochs: 3, samples: 1200, perEpoch: -1, total: 3600}
	want := "epoch 2 of 3: 1,200 samples, 50.0 samples/s"
	if got := progressText(p, &speed{rate: 50}); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := bar(p, &speed{rate: 50}, 100, true); got != want {
		t.Errorf("the bar is %q", got)
	}
}

package node_test

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/node"
)

// join makes a member that says its name to whoever asks.
func join(t *testing.T, circle, name string) *node.Circle {
	t.Helper()
	c, err := node.Join(circle)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", c.Socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, name)
			conn.Close()
		}
	}()
	return c
}

// told is what the others of a circle say; those who refuse are forgotten.
func told(t *testing.T, c *node.Circle) string {
	t.Helper()
	var names []string
	for _, path := range c.Others() {
		conn, err := net.Dial("unix", path)
		if errors.Is(err, syscall.ECONNREFUSED) {
			c.Forget(path)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		name, err := io.ReadAll(conn)
		conn.Close()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, string(name))
	}
	return strings.Join(names, " ")
}

// TestCircle: one is asked for all, and another when it has left.
func TestCircle(t *testing.T) {
	here(t)
	one, two, other := join(t, "metrics", "one"), join(t, "metrics", "two"), join(t, "else", "other")
	defer two.Close()
	defer other.Close()
	if !one.IsAsked() || two.IsAsked() || !one.IsAsked() || !other.IsAsked() {
		t.Error("the first is asked, and no other of its circle")
	}
	if a, b := told(t, one), told(t, two); a != "two" || b != "one" {
		t.Errorf("they hear %q and %q", a, b)
	}
	one.Close()
	if told(t, two) != "" || !two.IsAsked() {
		t.Error("the second is alone, and is asked now")
	}
}

// TestInCircle is the other process of TestACircleWithoutOne.
func TestInCircle(t *testing.T) {
	if !meets(t) {
		return // it is of the other one
	}
	c := join(t, "metrics", "killed")
	c.IsAsked()
	os.Stdout.WriteString(ready)
	time.Sleep(time.Minute)
	c.Close()
}

// TestACircleWithoutOne: a killed member leaves no lock, and a socket, which is
// forgotten.
func TestACircleWithoutOne(t *testing.T) {
	place := here(t)
	other := another(t, "TestInCircle", place)
	c := join(t, "metrics", "one")
	defer c.Close()
	if c.IsAsked() || told(t, c) != "killed" {
		t.Error("the other is asked, and answers")
	}
	other.Process.Kill()
	other.Wait()
	if len(c.Others()) != 1 || told(t, c) != "" || len(c.Others()) != 0 || !c.IsAsked() {
		t.Error("nobody else is there, nor forgotten")
	}
}

// TestNoCircle: a process that is alone, or cannot have a folder, is told so.
func TestNoCircle(t *testing.T) {
	if _, err := node.Join("metrics"); err == nil || !strings.Contains(err.Error(), "alone") {
		t.Errorf("%v", err)
	}
	place := here(t)
	join(t, "metrics", "one").Close()
	entries, err := os.ReadDir(place + "/circles")
	if err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
	folder := place + "/circles/" + entries[0].Name()
	os.Chmod(folder, 0o755)
	if _, err := node.Join("metrics"); err == nil || !strings.Contains(err.Error(), "can be used by others") {
		t.Errorf("%v", err)
	}
	os.Chmod(folder, 0o700)
	os.Remove(folder + "/asked")
	os.Mkdir(folder+"/asked", 0o700)
	if _, err := node.Join("metrics"); err == nil {
		t.Error("a folder where the lock should be")
	}
}

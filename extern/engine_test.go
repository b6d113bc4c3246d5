package extern_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"headrace/extern"
)

// TestMain runs the tests, or is an engine that one of them kills.
func TestMain(m *testing.M) {
	if os.Getenv("EXTERN_TEST_ENGINE") != "" {
		engine()
		return
	}
	os.Exit(m.Run())
}

// engine starts workers, of which one hangs, tells their process ids, and waits for its end.
func engine() {
	heap, err := extern.NewHeap()
	if err != nil {
		panic(err)
	}
	environment := append(os.Environ(), "PYTHONPATH="+os.Getenv("EXTERN_TEST_PATH"))
	python := &extern.Interpreter{Executable: os.Getenv("EXTERN_TEST_ENGINE"), Environment: environment}
	pool, err := extern.Open(extern.Options{Stage: "step", Function: "functions:trouble", Kind: extern.Map, Interpreter: python, Heap: heap, Workers: 2, In: troubled, Gives: intField})
	if err != nil {
		panic(err)
	}
	for range 2 {
		c := trouble(1, "")
		if err := pool.Call(context.Background(), c); err != nil {
			panic(err)
		}
	}
	go pool.Call(context.Background(), trouble(1, "hang"))
	for pool.Stats().Packs < 3 {
	}
	for len(pool.Stats().PIDs) < 2 {
	}
	fmt.Println(strings.Trim(fmt.Sprint(pool.Stats().PIDs), "[]"))
	select {}
}

// startEngine runs this test's binary as an engine with workers, and kills it. It returns the ids of the workers.
func startEngine(t *testing.T) (pids []string) {
	t.Helper()
	python := interpreter(t)
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	path := strings.TrimPrefix(python.Environment[len(python.Environment)-1], "PYTHONPATH=")
	cmd.Env = append(os.Environ(), "EXTERN_TEST_ENGINE="+python.Executable, "EXTERN_TEST_PATH="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	cmd.Process.Kill()
	cmd.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(line)
}

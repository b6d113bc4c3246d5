// Command objects serves a folder to benchmarks, as stores of objects do: with ranges,
// ETags and If-Match, and each answer after some time.
//
//	objects FOLDER [DELAY]
//
// It prints its address, and ends with its input.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 1 || len(args) > 2 {
		return fmt.Errorf("usage: objects FOLDER [DELAY]")
	}
	var delay time.Duration
	if len(args) == 2 {
		var err error
		if delay, err = time.ParseDuration(args[1]); err != nil {
			return err
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + l.Addr().String())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(delay)
		f, err := os.Open(filepath.Join(args[0], filepath.FromSlash(filepath.Clean("/"+r.URL.Path))))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		defer f.Close()
		is, err := f.Stat()
		if err != nil || is.IsDir() {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("ETag", fmt.Sprintf(`"%x-%x"`, is.ModTime().UnixNano(), is.Size()))
		http.ServeContent(w, r, "", is.ModTime(), f)
	}))
}

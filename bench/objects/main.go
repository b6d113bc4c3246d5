// Command objects serves a folder to benchmarks, as stores of objects do: with ranges,
// ETags and If-Match, and listings as Amazon S3 has them, of a bucket that is the folder.
//
//	objects [-delay 30ms] [-rate 125000000] [-tls CERTIFICATE] FOLDER
//
// Each answer begins after the delay, and all together have so many bytes a second. With
// -tls, it makes a certificate for its address, and writes it to a file for clients to
// trust. It prints its address, and ends with its input.
package main

import (
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	delay := flag.Duration("delay", 0, "time before each answer")
	rate := flag.Float64("rate", 0, "bytes a second of all answers; 0: any number")
	certificate := flag.String("tls", "", "speak TLS, and write the certificate to this file")
	flag.Parse()
	if flag.NArg() != 1 {
		return fmt.Errorf("usage: objects [-delay 30ms] [-rate BYTES] [-tls FILE] FOLDER")
	}
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	scheme, l := "http", net.Listener(plain)
	if *rate > 0 {
		l = &link{Listener: l, rate: *rate}
	}
	if *certificate != "" {
		c, err := selfSigned(*certificate)
		if err != nil {
			return err
		}
		scheme, l = "https", tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{c}})
	}
	fmt.Println(scheme + "://" + plain.Addr().String())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	root := flag.Arg(0)
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(*delay)
		if strings.HasPrefix(r.URL.Path, "/bucket") && r.URL.Query().Has("list-type") {
			list(w, root, r.URL.Query())
			return
		}
		serve(w, r, filepath.Join(root, filepath.Clean("/"+strings.TrimPrefix(r.URL.Path, "/bucket/"))))
	}))
}

func serve(w http.ResponseWriter, r *http.Request, path string) {
	f, err := os.Open(path)
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
	w.Header().Set("ETag", tagOf(is))
	http.ServeContent(w, r, "", is.ModTime(), f)
}

func tagOf(is os.FileInfo) string { return fmt.Sprintf(`"%x-%x"`, is.ModTime().UnixNano(), is.Size()) }

package s3

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

// service is a server that speaks like S3. Names of its objects begin with the bucket.
type service struct {
	storetest.Server
	url   string
	pages int // objects of a page
	uploads
}

// serve starts one, and sets the environment for it, in which nothing else is.
func serve(t *testing.T) *service {
	t.Helper()
	for _, name := range os.Environ() {
		if name, _, _ := strings.Cut(name, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": "AKID",
		"AWS_SECRET_ACCESS_KEY": "s3cr3t", "AWS_PROFILE": "", "AWS_CONFIG_FILE": "", "AWS_SHARED_CREDENTIALS_FILE": ""} {
		t.Setenv(name, value)
	}
	s := &service{pages: 3}
	server := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(server.Close)
	s.url = server.URL
	t.Setenv("AWS_ENDPOINT_URL", s.url)
	return s
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	bucket, key, _ := strings.Cut(r.URL.Path[1:], "/")
	if r.Method != http.MethodGet {
		if s.Fault == nil || !s.Fault(0, w, r) {
			s.change(w, r, key)
		}
		return
	}
	if key != "" || r.URL.Query().Get("list-type") != "2" {
		s.ServeHTTP(w, r)
	} else if s.Fault == nil || !s.Fault(0, w, r) {
		s.list(w, r, bucket)
	}
}

// list answers ListObjectsV2.
func (s *service) list(w http.ResponseWriter, r *http.Request, bucket string) {
	q := r.URL.Query()
	p := page{EncodingType: q.Get("encoding-type")}
	for o, err := range s.Objects(r.Context(), bucket+"/"+q.Get("prefix")) {
		key := strings.TrimPrefix(o.Name, bucket+"/")
		if err != nil || key <= q.Get("continuation-token") || key <= q.Get("start-after") {
			continue
		}
		if p.IsTruncated = len(p.Contents) == s.pages; p.IsTruncated {
			break
		}
		p.NextContinuationToken = key
		p.Contents = append(p.Contents, struct {
			Key  string
			ETag string
			Size int64
		}{url.QueryEscape(key), `"` + o.Version + `"`, o.Size})
	}
	text, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"ListBucketResult"`
		page
	}{page: p})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Write(text)
}

// inBucket is a store with names below one.
type inBucket struct {
	*Store
	root string
}

func (b inBucket) Stat(ctx context.Context, name string) (store.Object, error) {
	o, err := b.Store.Stat(ctx, b.root+name)
	o.Name = strings.TrimPrefix(o.Name, b.root)
	return o, err
}

func (b inBucket) Begin(ctx context.Context, name string, first []byte) (store.Object, int, error) {
	o, n, err := b.Store.Begin(ctx, b.root+name, first)
	o.Name = strings.TrimPrefix(o.Name, b.root)
	return o, n, err
}

func (b inBucket) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	o.Name = b.root + o.Name
	return b.Store.ReadAt(ctx, o, p, at)
}

func (b inBucket) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return b.ObjectsAfter(ctx, prefix, "")
}

func (b inBucket) ObjectsAfter(ctx context.Context, prefix, after string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		for o, err := range b.Store.ObjectsAfter(ctx, b.root+prefix, b.root+after) {
			o.Name = strings.TrimPrefix(o.Name, b.root)
			if !yield(o, err) {
				return
			}
		}
	}
}

func TestIsAStore(t *testing.T) {
	s := serve(t)
	storetest.Contract(t, inBucket{New(), "bucket/"}, func(name string, content []byte) { s.Set("bucket/"+name, content) })
}

// TestKeysOfAnyCharacters: they are sent so that the service has them as they are.
func TestKeysOfAnyCharacters(t *testing.T) {
	s := serve(t)
	names := []string{"b/a b", "b/a+b", "b/a%2Bb", "b/a%", "b/../x",
		"b//y", "b/?x=1&y", "b/#", "b/ü\u00a0", "b/\x01", "b/'\"<>", "b/*[a]{1..2}", "b/\\"}
	for _, name := range names {
		s.Set(name, []byte(name))
	}
	slices.Sort(names)
	m := New()
	var listed []string
	for o, err := range m.Objects(t.Context(), "b/") {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, o.Name)
		now, err := m.Stat(t.Context(), o.Name)
		got := make([]byte, o.Size)
		if err == nil {
			err = m.ReadAt(t.Context(), o, got, 0)
		}
		if err != nil || now != o || string(got) != o.Name {
			t.Errorf("%q has %q, %v, %+v", o.Name, got, err, now)
		}
	}
	if !slices.Equal(listed, names) {
		t.Errorf("%q are listed as %q", names, listed)
	}
	for _, name := range []string{"", "/x", "a@b/c", "b?/c"} {
		if _, err := m.Stat(t.Context(), name); !errors.Is(err, store.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, err := range m.Objects(t.Context(), "b") {
		if !errors.Is(err, store.ErrName) {
			t.Error(err)
		}
	}
	if _, err := m.Stat(t.Context(), "b"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestRefusals: each says what is wrong, and what to do, and has no secret.
func TestRefusals(t *testing.T) {
	s := serve(t)
	s.Set("b/x", []byte("x"))
	for _, c := range []struct {
		status int
		code   string
		is     error
		says   string
	}{
		{404, "NoSuchKey", fs.ErrNotExist, "answers 404"},
		{404, "NoSuchBucket", fs.ErrNotExist, `there is no bucket "b" at 127.0.0.1`},
		{403, "AccessDenied", fs.ErrPermission, "which are of AWS_ACCESS_KEY_ID, need s3:GetObject"},
		{403, "InvalidAccessKeyId", fs.ErrPermission, "the access key is not known at 127.0.0.1"},
		{403, "SignatureDoesNotMatch", fs.ErrPermission, "the secret key does not belong"},
		{403, "RequestTimeTooSkewed", fs.ErrPermission, "the clock of this machine"},
		{403, "InvalidObjectState", fs.ErrPermission, "aws s3api restore-object"},
		{400, "ExpiredToken", nil, "have expired: renew those of AWS_ACCESS_KEY_ID"},
		{301, "PermanentRedirect", nil, "is not in the region us-east-1: set AWS_REGION"},
		{307, "", nil, "does not name the region"},
		{400, "", nil, "the service refuses the request"},
		{403, "", fs.ErrPermission, "access to the bucket"},
	} {
		s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(c.status)
			if c.code != "" {
				fmt.Fprintf(w, "<Error><Code>%s</Code><Message>AKID s3cr3t</Message></Error>", c.code)
			}
			return true
		}
		_, err := New().Stat(t.Context(), "b/x")
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d %s: %v", c.status, c.code, err)
		}
		if err != nil && (strings.Contains(err.Error(), "AKID") || strings.Contains(err.Error(), "s3cr3t")) {
			t.Errorf("%v has a secret", err)
		}
		for _, err := range New().Objects(t.Context(), "b/") {
			if err == nil || c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("the listing: %d %s: %v", c.status, c.code, err)
			}
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { w.WriteHeader(403); return true }
	if _, err := New().Stat(t.Context(), "b/x"); err == nil || !strings.Contains(err.Error(), "set AWS_PROFILE") ||
		!strings.Contains(err.Error(), "tried AWS_ACCESS_KEY_ID, the profile default") {
		t.Error(err)
	}
}

// TestRegions: a bucket elsewhere is found by what the first answer says, once.
func TestRegions(t *testing.T) {
	s := serve(t)
	s.Set("b/x", []byte("x"))
	for _, status := range []int{301, 307, 400} {
		var wrong atomic.Int64
		s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.Header.Get("Authorization"), "/eu-north-1/s3/") {
				return false
			}
			wrong.Add(1)
			if status == 400 {
				w.WriteHeader(status)
				fmt.Fprint(w, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-north-1</Region></Error>")
				return true
			}
			w.Header().Set("X-Amz-Bucket-Region", "eu-north-1")
			w.WriteHeader(status)
			return true
		}
		m := New()
		for range 2 {
			if o, err := m.Stat(t.Context(), "b/x"); err != nil || o.Size != 1 {
				t.Errorf("%d: %+v, %v", status, o, err)
			}
		}
		if wrong.Load() != 1 {
			t.Errorf("%d: %d requests to the wrong region", status, wrong.Load())
		}
	}
}

// TestAddresses of buckets, by region and endpoint.
func TestAddresses(t *testing.T) {
	for _, c := range []struct{ endpoint, bucket, region, want string }{
		{"", "b", "us-east-1", "b.s3.us-east-1.amazonaws.com/"},
		{"", "b.c", "eu-west-1", "s3.eu-west-1.amazonaws.com/b.c/"},
		{"", "b", "cn-north-1", "b.s3.cn-north-1.amazonaws.com.cn/"},
		{"http://h:1", "b", "x", "h:1/b/"},
		{"https://h/minio/", "b", "x", "h/minio/b/"},
	} {
		serve(t)
		t.Setenv("AWS_ENDPOINT_URL", c.endpoint)
		set, err := read()
		if err != nil {
			t.Fatal(err)
		}
		if host, path := set.address(c.bucket, c.region); host+path != c.want {
			t.Errorf("%+v: %s%s", c, host, path)
		}
	}
	for _, wrong := range []string{"host", "ftp://h", "https://a:b@h", "http://h?x"} {
		t.Setenv("AWS_ENDPOINT_URL", wrong)
		_, err := New().Stat(t.Context(), "b/x")
		if text := fmt.Sprint(err); !strings.Contains(text, "must be like https://host:port") || strings.Contains(text, "a:b") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}

// TestSettings: each is taken from its place.
func TestSettings(t *testing.T) {
	s := serve(t)
	s.Set("b/x", []byte("x"))
	last := func() storetest.Asked {
		t.Helper()
		if _, err := New().Stat(t.Context(), "b/x"); err != nil {
			t.Fatal(err)
		}
		all := s.Asked()
		return all[len(all)-1]
	}
	signed := func(by string) {
		t.Helper()
		if got := last().Header.Get("Authorization"); !strings.Contains(got, by) {
			t.Errorf("%q is not signed by %s", got, by)
		}
	}
	signed("Credential=AKID/")
	t.Setenv("AWS_REGION", "eu-west-3")
	signed("/eu-west-3/s3/")
	t.Setenv("AWS_SESSION_TOKEN", "token")
	if a := last().Header; a.Get("X-Amz-Security-Token") != "token" || !strings.Contains(a.Get("Authorization"), "x-amz-security-token") {
		t.Errorf("%+v", a)
	}
	t.Setenv("AWS_REQUEST_PAYER", "requester")
	if a := last().Header; a.Get("X-Amz-Request-Payer") != "requester" || !strings.Contains(a.Get("Authorization"), "x-amz-request-payer") {
		t.Errorf("%+v", a)
	}
	t.Setenv("AWS_NO_SIGN_REQUEST", "YES")
	if a := last(); a.Header.Get("Authorization") != "" {
		t.Errorf("%+v", a)
	}
	t.Setenv("AWS_NO_SIGN_REQUEST", "")

	// Profiles, by files.
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_ENDPOINT_URL"} {
		t.Setenv(name, "")
	}
	folder := filepath.Join(os.Getenv("HOME"), ".aws")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("config", "[default]\nregion = ap-south-1\nendpoint_url = "+s.url+"\ns3 =\n  max_concurrent_requests = 20\n"+
		"[profile other]\nendpoint_url="+s.url+"\ncredential_process = "+folder+"/process one\n")
	write("credentials", "[default]\naws_access_key_id = FILE\naws_secret_access_key = secret\n")
	write("process", "#!/bin/sh\necho '{\"Version\": 1, "+
		"\"AccessKeyId\": \"PROC'$1'\", \"SecretAccessKey\": \"s\", \"SessionToken\": \"t\"}'\n")
	signed("Credential=FILE/")
	signed("/ap-south-1/s3/")
	t.Setenv("AWS_PROFILE", "other")
	signed("Credential=PROCone/")
	t.Setenv("AWS_PROFILE", "nowhere")
	if _, err := New().Stat(t.Context(), "b/x"); err == nil || !strings.Contains(err.Error(), "no credentials from the profile nowhere") {
		t.Error(err)
	}

	t.Setenv("AWS_CA_BUNDLE", filepath.Join(folder, "config"))
	if _, err := New().Stat(t.Context(), "b/x"); err == nil || !strings.Contains(err.Error(), "has no certificates in PEM") {
		t.Error(err)
	}
}

// TestRolesAreRenewed: credentials of a container's role are renewed before they expire,
// and once more if the service says that they have.
func TestRolesAreRenewed(t *testing.T) {
	s := serve(t)
	s.Set("b/x", []byte("x"))
	var given atomic.Int64
	life := time.Hour
	role := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		json.NewEncoder(w).Encode(map[string]any{"AccessKeyId": "ROLE" + strconv.FormatInt(given.Add(1), 10),
			"SecretAccessKey": "s", "Token": "t", "Expiration": time.Now().Add(life).UTC()})
	}))
	defer role.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", role.URL)

	m := New()
	stat := func() string {
		t.Helper()
		if _, err := m.Stat(t.Context(), "b/x"); err != nil {
			t.Error(err)
		}
		all := s.Asked()
		return all[len(all)-1].Header.Get("Authorization")
	}
	stat()
	if got := stat(); !strings.Contains(got, "ROLE1/") {
		t.Error(got)
	}
	s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		old := strings.Contains(r.Header.Get("Authorization"), "ROLE1/")
		if old {
			w.WriteHeader(400)
			fmt.Fprint(w, "<Error><Code>ExpiredToken</Code></Error>")
		}
		return old
	}
	if got := stat(); !strings.Contains(got, "ROLE2/") {
		t.Error(got)
	}
	life = 40 * time.Millisecond
	m = New()
	stat()
	time.Sleep(50 * time.Millisecond)
	if got := stat(); !strings.Contains(got, "ROLE4/") {
		t.Error(got)
	}
}

// TestListings: wrong ones are errors.
func TestListings(t *testing.T) {
	s := serve(t)
	for answer, says := range map[string]string{
		"nonsense": "is not XML",
		"<L><Contents><Key>b</Key></Contents><Contents><Key>a</Key></Contents></L>":                "",
		"<L><EncodingType>url</EncodingType><Contents><Key>%zz</Key></Contents></L>":               "is not encoded",
		"<L><IsTruncated>true</IsTruncated><Contents><Key>dir/</Key><Size>0</Size></Contents></L>": "",
	} {
		s.Fault = func(_ int, w http.ResponseWriter, r *http.Request) bool { fmt.Fprint(w, answer); return true }
		var last error
		for _, err := range New().Objects(t.Context(), "b/") {
			last = err
		}
		if (says == "") != (last == nil) || last != nil && !strings.Contains(last.Error(), says) {
			t.Errorf("%s: %v", answer, last)
		}
	}
}

// BenchmarkGET112K is the CPU of reading 112 KB by one request, with that of a server in
// this process, in the clear and by TLS.
func BenchmarkGET112K(b *testing.B) {
	content := make([]byte, 112<<10)
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v"`)
		first, last := storetest.Range(r)
		storetest.Part(w, first, last, int64(len(content)), content[first:last+1])
	})
	for name, start := range map[string]func(http.Handler) *httptest.Server{"plain": httptest.NewServer, "TLS": httptest.NewTLSServer} {
		b.Run(name, func(b *testing.B) {
			server := start(answer)
			defer server.Close()
			b.Setenv("AWS_ENDPOINT_URL", server.URL)
			b.Setenv("AWS_ACCESS_KEY_ID", "AKID")
			b.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
			if c := server.Certificate(); c != nil {
				bundle := filepath.Join(b.TempDir(), "bundle")
				text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})
				if err := os.WriteFile(bundle, text, 0o600); err != nil {
					b.Fatal(err)
				}
				b.Setenv("AWS_CA_BUNDLE", bundle)
			}
			m := New()
			o, err := m.Stat(b.Context(), "b/x")
			if err != nil {
				b.Fatal(err)
			}
			p := make([]byte, len(content))
			begun := cpu(b)
			for b.Loop() {
				if err := m.ReadAt(b.Context(), o, p, 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cpu(b)-begun).Microseconds())/float64(b.N), "µs-CPU/op")
		})
	}
}

// cpu is the time that this process has had cores.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

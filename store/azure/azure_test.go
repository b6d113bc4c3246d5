package azure

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

var secret = base64.StdEncoding.EncodeToString([]byte("s3cr3t of nobody"))

// service speaks like Azure Blob Storage, for the account "me". What it is asked for in
// another way is an error of the test.
type service struct {
	t     *testing.T
	url   string
	pages int                                               // blobs of a page
	fault func(w http.ResponseWriter, r *http.Request) bool // answers in its place
	by    string                                            // how requests must be allowed: key, sas, token or none

	storetest.Memory
	mu    sync.Mutex
	asked []*http.Request
}

// serve starts one, and sets the environment for it, in which nothing else is.
func serve(t *testing.T) *service {
	t.Helper()
	for _, name := range os.Environ() {
		if name, _, _ := strings.Cut(name, "="); strings.HasPrefix(name, "AZURE_") {
			t.Setenv(name, "")
		}
	}
	s := &service{t: t, pages: 3, by: "key"}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	for name, value := range map[string]string{"AZURE_STORAGE_ACCOUNT": "me", "AZURE_STORAGE_KEY": secret, "AZURE_STORAGE_ENDPOINT": s.url,
		"AZURE_STORAGE_SAS_TOKEN": "", "AZURE_STORAGE_CONNECTION_STRING": "", "AZURE_CLIENT_ID": "", "AZURE_STORAGE_ANON": ""} {
		t.Setenv(name, value)
	}
	return s
}

// signature is that of a request by the words of the service's documentation.
func signature(r *http.Request, account string) string {
	h := r.Header
	own := "x-ms-date:" + h.Get("x-ms-date") + "\nx-ms-version:" + h.Get("x-ms-version")
	if kind := h.Get("x-ms-blob-type"); kind != "" {
		own = "x-ms-blob-type:" + kind + "\n" + own
	}
	length := ""
	if r.ContentLength > 0 {
		length = fmt.Sprint(r.ContentLength)
	}
	resource := "/" + account + r.URL.EscapedPath()
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range r.URL.Query() {
			yield(name)
		}
	}) {
		resource += "\n" + strings.ToLower(name) + ":" + r.URL.Query().Get(name)
	}
	text := strings.Join([]string{r.Method, "", "", length, "", h.Get("Content-Type"), "", "", h.Get("If-Match"), h.Get("If-None-Match"),
		h.Get("If-Unmodified-Since"), h.Get("Range"), own, resource}, "\n")
	key, _ := base64.StdEncoding.DecodeString(secret)
	m := hmac.New(sha256.New, key)
	m.Write([]byte(text))
	return "SharedKey " + account + ":" + base64.StdEncoding.EncodeToString(m.Sum(nil))
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("x-ms-error-code", code)
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, secret)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r)
	if s.fault != nil && s.fault(w, r) {
		return
	}
	got, q := r.Header.Get("Authorization"), r.URL.Query()
	isAllowed := map[string]bool{"key": got == signature(r, "me"), "sas": got == "" && q.Get("sig") == "a/b+c=" && q.Get("sv") == "2021",
		"token": got == "Bearer token", "none": got == "" && q.Get("sig") == "", "any": true}[s.by]
	version := apiVersion
	if q.Has("startFrom") {
		version = "2026-02-06"
	}
	if !isAllowed || r.Header.Get("x-ms-version") != version {
		s.t.Errorf("%s is asked for by %v", r.URL, r.Header)
	}
	if r.Method != http.MethodGet {
		s.change(w, r)
		return
	}
	bucket, name, _ := strings.Cut(r.URL.Path[1:], "/")
	if name == "" && q.Get("restype") == "container" && q.Get("comp") == "list" {
		s.list(w, q, bucket)
		return
	}
	o, err := s.Memory.Stat(r.Context(), bucket+"/"+name)
	content := make([]byte, o.Size)
	if err == nil {
		err = s.Memory.ReadAt(r.Context(), o, content, 0)
	}
	if err != nil {
		refuse(w, 404, "BlobNotFound")
		return
	}
	w.Header().Set("ETag", `"0x`+o.Version+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

func (s *service) list(w http.ResponseWriter, q url.Values, container string) {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>`)
	n, next := 0, ""
	for o := range s.Memory.Objects(context.Background(), container+"/"+q.Get("prefix")) {
		name := strings.TrimPrefix(o.Name, container+"/")
		if name <= q.Get("marker") || name < q.Get("startFrom") {
			continue
		}
		if n++; n > s.pages {
			break
		}
		next = name
		b.WriteString("<Blob>")
		if strings.ContainsAny(name, "\x01\u00a0") {
			b.WriteString(`<Name Encoded="true">` + url.PathEscape(name) + "</Name>")
		} else {
			b.WriteString("<Name>")
			xml.EscapeText(&b, []byte(name))
			b.WriteString("</Name>")
		}
		fmt.Fprintf(&b, "<Properties><Content-Length>%d</Content-Length><Etag>0x%s</Etag></Properties></Blob>", o.Size, o.Version)
	}
	b.WriteString("</Blobs>")
	if n > s.pages {
		b.WriteString("<NextMarker>")
		xml.EscapeText(&b, []byte(next))
		b.WriteString("</NextMarker>")
	}
	fmt.Fprint(w, b.String()+"</EnumerationResults>")
}

// inContainer is a store with names of one container.
type inContainer struct {
	*Store
	root string
}

func (b inContainer) Stat(ctx context.Context, name string) (store.Object, error) {
	o, err := b.Store.Stat(ctx, b.root+name)
	o.Name = strings.TrimPrefix(o.Name, b.root)
	return o, err
}

func (b inContainer) Begin(ctx context.Context, name string, first []byte) (store.Object, int, error) {
	o, n, err := b.Store.Begin(ctx, b.root+name, first)
	o.Name = strings.TrimPrefix(o.Name, b.root)
	return o, n, err
}

func (b inContainer) ReadAt(ctx context.Context, o store.Object, p []byte, at int64) error {
	o.Name = b.root + o.Name
	return b.Store.ReadAt(ctx, o, p, at)
}

func (b inContainer) Objects(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return b.ObjectsAfter(ctx, prefix, "")
}

func (b inContainer) ObjectsAfter(ctx context.Context, prefix, after string) iter.Seq2[store.Object, error] {
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
	for scheme, root := range map[string]string{"az": "c/", "abfs": "c/", "abfss": "c@me.dfs.core.windows.net/"} {
		t.Run(scheme, func(t *testing.T) {
			s := serve(t)
			storetest.Contract(t, inContainer{New(scheme), root}, func(name string, content []byte) { s.Set("c/"+name, content) })
		})
	}
}

func TestNames(t *testing.T) {
	s := serve(t)
	names := []string{"c/a b", "c/a+b", "c/a%2Bb", "c/%", "c//y", "c/?x=1&y", "c/#",
		"c/ü\u00a0", "c/\x01", "c/'\"<>", "c/*[a]{1..2}", "c/\\"}
	for _, name := range names {
		s.Set(name, []byte(name))
	}
	slices.Sort(names)
	m := New("az")
	var listed []string
	for o, err := range m.Objects(t.Context(), "c/") {
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
	for _, name := range []string{"", "/x", "c@me.dfs.core.windows.net/x", "c?/x", "*/x"} {
		if _, err := m.Stat(t.Context(), name); !errors.Is(err, store.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"c@/x", "c@evil.example#.core.windows.net/x", "c@a@me.dfs.core.windows.net/x"} {
		if _, err := New("abfss").Stat(t.Context(), name); !errors.Is(err, store.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, host := range []string{"me.evil.example", "me.core.windows.net.evil.example", "mecore.windows.net"} {
		_, err := New("abfss").Stat(t.Context(), "c@"+strings.Replace(host, "me", "you", 1)+"/x")
		if !errors.Is(err, store.ErrName) || !strings.Contains(err.Error(), "is not a host of Azure") {
			t.Errorf("%s: %v", host, err)
		}
	}
	if err := m.ReadAt(t.Context(), store.Object{Name: "c"}, nil, 0); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	for _, prefix := range []string{"c", ""} {
		for _, err := range m.Objects(t.Context(), prefix) {
			if !errors.Is(err, store.ErrName) {
				t.Error(err)
			}
		}
	}
	t.Setenv("AZURE_STORAGE_ACCOUNT", "")
	t.Setenv("AZURE_STORAGE_ENDPOINT", "")
	if _, err := New("az").Stat(t.Context(), "c/x"); err == nil || !strings.Contains(err.Error(), "set AZURE_STORAGE_ACCOUNT") {
		t.Error(err)
	}
}

// TestAddresses of containers, by the name and the settings.
func TestAddresses(t *testing.T) {
	serve(t)
	const full = "AccountName=me;AccountKey=" // a value may have = in it
	for _, c := range []struct{ connection, account, endpoint, scheme, name, want string }{
		{"", "me", "", "az", "c/x", "https://me.blob.core.windows.net/c me"},
		{"", "me", "http://h:1/me/", "az", "c/x", "http://h:1/me/c me"},
		{"", "me", "http://h:1/me", "abfss", "c@other.dfs.core.windows.net/x", "https://other.blob.core.windows.net/c other"},
		{"", "", "", "abfss", "c@me.dfs.core.chinacloudapi.cn/x", "https://me.blob.core.chinacloudapi.cn/c me"},
		{"", "", "http://127.0.0.1:10000/devstoreaccount1", "az", "c/x", "http://127.0.0.1:10000/devstoreaccount1/c devstoreaccount1"},
		{"", "", "https://me.blob.core.windows.net", "az", "c/x", "https://me.blob.core.windows.net/c me"},
		{full + secret + ";EndpointSuffix=core.cn", "", "", "az", "c/x", "https://me.blob.core.cn/c me"},
		{full + secret + ";DefaultEndpointsProtocol=http", "", "", "az", "c/x", "http://me.blob.core.windows.net/c me"},
		{full + secret + ";BlobEndpoint=http://h/me", "other", "http://other", "az", "c/x", "http://h/me/c me"},
		{"UseDevelopmentStorage=true", "", "", "az", "c/x", "http://127.0.0.1:10000/devstoreaccount1/c devstoreaccount1"},
	} {
		for name, value := range map[string]string{"AZURE_STORAGE_CONNECTION_STRING": c.connection, "AZURE_STORAGE_ACCOUNT": c.account,
			"AZURE_STORAGE_ENDPOINT": c.endpoint} {
			t.Setenv(name, value)
		}
		set, err := read()
		if err != nil {
			t.Fatal(err)
		}
		b, err := set.split(c.scheme, c.name)
		scheme, host, path := set.address(b)
		if got := scheme + "://" + host + path + " " + b.account; got != c.want || err != nil || b.name != "x" {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
		if c.connection != "" && set.from != "AZURE_STORAGE_CONNECTION_STRING" {
			t.Errorf("%+v: the key is of %q", c, set.from)
		}
	}
	t.Setenv("AZURE_STORAGE_CONNECTION_STRING", "")
	for _, wrong := range []string{"host", "ftp://h", "https://a:b@h", "http://h?x"} {
		t.Setenv("AZURE_STORAGE_ENDPOINT", wrong)
		m := New("az")
		_, err := m.Stat(t.Context(), "c/x")
		text := fmt.Sprint(err, m.Tell(t.Context(), "c"))
		if !strings.Contains(text, "AZURE_STORAGE_ENDPOINT must be like https://") || strings.Contains(text, "a:b") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	t.Setenv("AZURE_STORAGE_ENDPOINT", "")
	t.Setenv("AZURE_STORAGE_KEY", "cut off")
	_, err := New("az").Stat(t.Context(), "c/x")
	if err == nil || !strings.Contains(err.Error(), "the key of AZURE_STORAGE_KEY is not complete") {
		t.Error(err)
	}
}

// tokens are a credential of tests.
type tokens struct {
	given int
	life  time.Duration
	err   error
}

func (c *tokens) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	c.given++
	if !slices.Equal(o.Scopes, []string{"https://storage.azure.com/.default"}) {
		return azcore.AccessToken{}, fmt.Errorf("a token is asked for by %v", o)
	}
	return azcore.AccessToken{Token: "token", ExpiresOn: time.Now().Add(c.life)}, c.err
}

// open returns a store with tokens of a test.
func open(c *tokens) *Store {
	m := New("az")
	m.begin = sync.OnceValues(func() (*settings, error) {
		set, err := read()
		if err == nil && set.identity.begin != nil {
			set.identity.begin = func() (azcore.TokenCredential, error) { return c, nil }
		}
		return set, err
	})
	return m
}

// TestCredentials: a key, a SAS, a token, none.
func TestCredentials(t *testing.T) {
	s := serve(t)
	s.Set("c/x", []byte("x"))
	has := func(m *Store, by, from string) {
		t.Helper()
		s.by = by
		if _, err := m.Stat(t.Context(), "c/x"); err != nil {
			t.Error(err)
		}
		for _, err := range m.Objects(t.Context(), "c/") {
			if err != nil {
				t.Error(err)
			}
		}
		facts := fmt.Sprint(m.Tell(t.Context(), "c"))
		if !strings.Contains(facts, "{credentials "+from) || strings.Contains(facts, secret) {
			t.Error(facts)
		}
	}
	has(New("az"), "key", "AZURE_STORAGE_KEY")
	t.Setenv("AZURE_STORAGE_KEY", "")
	t.Setenv("AZURE_STORAGE_SAS_TOKEN", "?sv=2021&sig=a%2Fb%2Bc%3D")
	has(New("az"), "sas", "AZURE_STORAGE_SAS_TOKEN")
	t.Setenv("AZURE_STORAGE_SAS_TOKEN", "")

	c := &tokens{life: time.Hour}
	m := open(c)
	has(m, "token", "azidentity")
	has(m, "token", "azidentity")
	if c.given != 1 {
		t.Errorf("%d tokens in an hour", c.given)
	}
	refusals := 1
	s.fault = func(w http.ResponseWriter, r *http.Request) bool {
		refusals--
		if refusals >= 0 {
			refuse(w, 401, "InvalidAuthenticationInfo")
		}
		return refusals >= 0
	}
	has(m, "token", "azidentity")
	if c.given != 2 {
		t.Errorf("%d tokens after one was refused", c.given)
	}
	c.life = 20 * time.Millisecond
	m = open(c)
	has(m, "token", "azidentity")
	time.Sleep(30 * time.Millisecond)
	has(m, "token", "azidentity")
	if c.given < 4 {
		t.Errorf("%d tokens", c.given)
	}

	// Those without any may read public containers; those of an application are told.
	c.err = errors.New("DefaultAzureCredential: failed to acquire a token.\nAttempted credentials:\n" +
		"\tEnvironmentCredential: missing variable\n" +
		"\tWorkloadIdentityCredential: AADSTS7000215: Invalid client secret provided.\nTo troubleshoot, visit https://aka.ms/x")
	has(open(c), "none", "none: tried AZURE_STORAGE_KEY")
	t.Setenv("AZURE_CLIENT_ID", "app")
	if _, err := open(c).Stat(t.Context(), "c/x"); err == nil || !strings.Contains(err.Error(), "AADSTS7000215: Invalid client secret") {
		t.Error(err)
	}
	c.err = errors.New("x\n\tEnvironmentCredential: missing variable\ny")
	if _, err := open(c).Stat(t.Context(), "c/x"); err == nil || !strings.HasSuffix(err.Error(), "AZURE_CLIENT_ID: missing variable") {
		t.Error(err)
	}
	c.err = nil
	has(open(c), "token", "AZURE_CLIENT_ID")
	t.Setenv("AZURE_STORAGE_ANON", "true")
	has(open(c), "none", "none: AZURE_STORAGE_ANON is set")

	// A key is for its own account.
	t.Setenv("AZURE_STORAGE_KEY", secret)
	set, err := read()
	who, err2 := set.credentials(t.Context(), blob{account: "other", host: "other.dfs.core.windows.net"})
	if err != nil || err2 != nil || who.key != nil {
		t.Errorf("%+v, %v", who, err)
	}
	t.Setenv("AZURE_STORAGE_KEY", "")
	t.Setenv("AZURE_STORAGE_ENDPOINT", "http://far.example")
	if facts := fmt.Sprint(New("az").Tell(t.Context(), "c")); !strings.Contains(facts, "tokens are not sent by http") {
		t.Error(facts)
	}
}

// TestRefusals: each says what is wrong, and what to do, and has no secret.
func TestRefusals(t *testing.T) {
	s := serve(t)
	type refusal struct {
		status int
		code   string
		is     error
		says   string
	}
	try := func(all ...refusal) {
		t.Helper()
		for _, c := range all {
			s.fault = func(w http.ResponseWriter, r *http.Request) bool { refuse(w, c.status, c.code); return true }
			_, err := New("az").Stat(t.Context(), "c/x")
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) ||
				strings.Contains(err.Error(), secret) {
				t.Errorf("%d %s: %v", c.status, c.code, err)
			}
			for _, err := range New("az").Objects(t.Context(), "c/") {
				if err == nil || c.is != nil && !errors.Is(err, c.is) {
					t.Errorf("the listing: %d %s: %v", c.status, c.code, err)
				}
			}
		}
	}
	try(
		refusal{404, "BlobNotFound", fs.ErrNotExist, "answers 404"},
		refusal{404, "ResourceNotFound", fs.ErrNotExist, "answers 404"},
		refusal{404, "ContainerNotFound", fs.ErrNotExist, `there is no container "c" at 127.0.0.1`},
		refusal{403, "AuthenticationFailed", fs.ErrPermission, "which are of AZURE_STORAGE_KEY: copy the key"},
		refusal{403, "AuthorizationPermissionMismatch", fs.ErrPermission, "Storage Blob Data Reader"},
		refusal{403, "AuthorizationFailure", fs.ErrPermission, "its firewall"},
		refusal{403, "KeyBasedAuthenticationNotPermitted", fs.ErrPermission, "allows no keys"},
		refusal{401, "InvalidAuthenticationInfo", fs.ErrPermission, "does not accept the token"},
		refusal{409, "BlobArchived", nil, "rehydrate it first"},
		refusal{400, "InvalidHeaderValue", nil, "refuses the request"},
		refusal{302, "", nil, "refuses the request"},
	)
	t.Setenv("AZURE_STORAGE_KEY", "")
	t.Setenv("AZURE_STORAGE_ANON", "true")
	try(
		refusal{404, "ResourceNotFound", fs.ErrNotExist, "is denied without credentials: az login"},
		refusal{409, "PublicAccessNotPermitted", nil, "is denied without credentials"},
		refusal{401, "NoAuthenticationInformation", fs.ErrPermission, "set AZURE_STORAGE_KEY or"},
	)
}

// TestListings: wrong ones are errors.
func TestListings(t *testing.T) {
	s := serve(t)
	const blobs = "<EnumerationResults><Blobs><Blob>%s</Blob></Blobs></EnumerationResults>"
	for answer, says := range map[string]string{
		"nonsense": "EOF",
		fmt.Sprintf(blobs, "<Name>b</Name></Blob><Blob><Name>a</Name>"):                                     "", // that of folders
		fmt.Sprintf(blobs, `<Name Encoded="true">%zz</Name>`):                                               "is not encoded",
		fmt.Sprintf(blobs, `<Name>d</Name><Properties><ResourceType>directory</ResourceType></Properties>`): "",
	} {
		s.fault = func(w http.ResponseWriter, r *http.Request) bool { fmt.Fprint(w, answer); return true }
		var last error
		for o, err := range New("az").Objects(t.Context(), "c/") {
			if last = err; o.Name == "c/d" {
				t.Errorf("a folder is listed: %+v", o)
			}
		}
		if (says == "") != (last == nil) || last != nil && !strings.Contains(last.Error(), says) {
			t.Errorf("%s: %v", answer, last)
		}
	}
}

// TestListsInParts: a large listing comes in parts, if the service can begin at a name.
// One that does not know how, or does not heed it, is listed from one end to the other.
func TestListsInParts(t *testing.T) {
	s := serve(t)
	s.pages = 1000
	const total = 6000
	for i := range total {
		s.Set(fmt.Sprintf("c/%05d.jpg", i), nil)
	}
	refuses := func(w http.ResponseWriter, r *http.Request) bool {
		isNew := r.Header.Get("x-ms-version") > "2025"
		if isNew {
			refuse(w, 400, "InvalidHeaderValue")
		}
		return isNew
	}
	ignores := func(_ http.ResponseWriter, r *http.Request) bool {
		q := r.URL.Query()
		if q.Has("startFrom") {
			s.by = "any"
			q.Del("startFrom")
			r.URL.RawQuery = q.Encode()
			r.Header.Set("x-ms-version", apiVersion)
		}
		return false
	}
	faults := map[string]func(http.ResponseWriter, *http.Request) bool{"": nil, "refuses": refuses, "ignores": ignores}
	for name, fault := range faults {
		s.fault, s.asked, s.by = fault, nil, "key"
		table, err := store.Find(t.Context(), New("az"), "", "c/", []string{".jpg"})
		if err != nil || table.Len() != total {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range total {
			if want := fmt.Sprintf("c/%05d.jpg", i); table.Key(i) != want {
				t.Fatalf("%s: blob %d is %q", name, i, table.Key(i))
			}
		}
		isDivided := slices.ContainsFunc(s.asked, func(r *http.Request) bool {
			return strings.Contains(r.RequestURI, "startFrom")
		})
		if !isDivided || len(s.asked) > 40 {
			t.Errorf("%s: %d requests, in parts: %v", name, len(s.asked), isDivided)
		}
	}
}

// TestSASWithoutAccount goes to the first account that is asked for.
func TestSASWithoutAccount(t *testing.T) {
	serve(t)
	for name, value := range map[string]string{"AZURE_STORAGE_ACCOUNT": "", "AZURE_STORAGE_ENDPOINT": "", "AZURE_STORAGE_KEY": "",
		"AZURE_STORAGE_SAS_TOKEN": "sig=x"} {
		t.Setenv(name, value)
	}
	set, err := read()
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"me.dfs.core.windows.net", "other.dfs.core.windows.net", "me.dfs.core.windows.net",
		"me.dfs.core.chinacloudapi.cn"} {
		b, err := set.split("abfss", "c@"+host+"/x")
		if err != nil {
			t.Fatal(err)
		}
		c, err := set.credentials(t.Context(), b)
		switch isFirst := host == "me.dfs.core.windows.net"; {
		case isFirst && (err != nil || c.sas != "sig=x"):
			t.Errorf("%+v, %v", c, err)
		case !isFirst && (err == nil || c.sas != "" || !strings.Contains(err.Error(), "set AZURE_STORAGE_ACCOUNT to")):
			t.Errorf("%s: %+v, %v", host, c, err)
		}
	}
}

// TestWaitingForTokens: it ends with its reader, and one error is for all that wait.
func TestWaitingForTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		i := newIdentity(false)
		hold, begun := make(chan struct{}), 0
		i.begin = func() (azcore.TokenCredential, error) {
			begun++
			<-hold
			return nil, errors.New("gone")
		}
		var all sync.WaitGroup
		for range 128 {
			all.Go(func() {
				if _, _, err := i.get(t.Context()); err == nil || !strings.Contains(err.Error(), "gone") {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := i.get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(hold)
		all.Wait()
		if begun != 1 {
			t.Errorf("%d of 128 readers have asked", begun)
		}
		time.Sleep(keepError)
		if i.get(t.Context()); begun != 2 {
			t.Error("it is not looked for again")
		}
	})
}

package azure

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/headrace/headrace/store"
)

// settings come from the environment, as those of Microsoft's own programs do:
//
//   - AZURE_STORAGE_CONNECTION_STRING, with all that follows
//   - AZURE_STORAGE_ACCOUNT, whose containers az:// names have
//   - AZURE_STORAGE_KEY, the account's key, or AZURE_STORAGE_SAS_TOKEN
//   - AZURE_STORAGE_ENDPOINT, the account's address if it is not that of Azure
//   - AZURE_STORAGE_ANON=true, to read public containers without credentials
type settings struct {
	account  string
	key      []byte
	sas      string // without a question mark
	endpoint string // with the scheme; "": Azure's
	suffix   string // of Azure's hosts
	from     string // of the key or SAS, for messages
	identity *identity

	mu    sync.Mutex
	first string // the host that has had a SAS whose account is not set
}

// The account that emulators have, with the key that everybody knows.
const (
	emulated    = "devstoreaccount1"
	emulatedKey = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	emulatedAt  = "http://127.0.0.1:10000/" + emulated
)

func read() (*settings, error) {
	s := &settings{suffix: "core.windows.net"}
	const inOne = "AZURE_STORAGE_CONNECTION_STRING"
	all := map[string]string{}
	for part := range strings.SplitSeq(os.Getenv(inOne), ";") {
		name, value, _ := strings.Cut(part, "=")
		all[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	if strings.EqualFold(all["usedevelopmentstorage"], "true") {
		all["accountname"], all["accountkey"], all["blobendpoint"] = emulated, emulatedKey, emulatedAt
	}
	pick := func(part string, names ...string) (value, from string) {
		if v := all[part]; v != "" {
			return v, inOne
		}
		for _, name := range names {
			if v := os.Getenv(name); v != "" {
				return v, name
			}
		}
		return "", ""
	}
	s.account, _ = pick("accountname", "AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME")
	if suffix := all["endpointsuffix"]; suffix != "" {
		s.suffix = suffix
	}

	key, from := pick("accountkey", "AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCOUNT_KEY")
	var err error
	if s.key, err = base64.StdEncoding.DecodeString(key); err != nil {
		return nil, fmt.Errorf("azure: the key of %s is not complete: it must be in Base64", from)
	}
	s.from = from
	if len(s.key) == 0 {
		s.sas, s.from = pick("sharedaccesssignature", "AZURE_STORAGE_SAS_TOKEN")
		s.sas = strings.TrimPrefix(s.sas, "?")
	}

	at, from := pick("blobendpoint", "AZURE_STORAGE_ENDPOINT")
	if at == "" && all["defaultendpointsprotocol"] == "http" && s.account != "" {
		at = "http://" + s.account + ".blob." + s.suffix
	}
	if at != "" {
		u, err := url.Parse(at)
		isWeb := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
		if !isWeb || u.User != nil || u.RawQuery != "" { // not shown: it may have a password
			return nil, fmt.Errorf("azure: the address of %s must be like https://account.blob.core.windows.net", from)
		}
		s.endpoint = u.Scheme + "://" + u.Host + strings.TrimSuffix(u.EscapedPath(), "/")
		if s.account == "" { // emulators have it in the path
			first, _, _ := strings.Cut(u.Hostname(), ".")
			s.account = path.Base(path.Join("/", first, u.Path))
		}
	}
	anonymous, _ := strconv.ParseBool(os.Getenv("AZURE_STORAGE_ANON"))
	s.identity = newIdentity(anonymous)
	return s, nil
}

// blob is a blob, or the beginning of the names of some.
type blob struct {
	account   string
	host      string // of abfs names; "": that of the account
	container string
	name      string
}

// clouds are the ends of Azure's hosts. Tokens go nowhere else: names may come from
// tables that others have written.
var clouds = []string{".core.windows.net", ".core.chinacloudapi.cn", ".core.usgovcloudapi.net", ".storage.azure.net",
	".fabric.microsoft.com"}

func (s *settings) isAzure(host string) bool {
	return slices.ContainsFunc(append(clouds, "."+s.suffix), func(end string) bool { return strings.HasSuffix(strings.ToLower(host), end) })
}

// split returns the blob of a name.
func (s *settings) split(scheme, name string) (b blob, err error) {
	first, rest, _ := strings.Cut(name, "/")
	container, host, isFull := strings.Cut(first, "@")
	b = blob{account: s.account, container: container, name: rest}
	if isFull && scheme != "az" {
		b.host = host
		b.account, _, _ = strings.Cut(host, ".")
	}
	isName := container != "" && !strings.ContainsAny(container, ":?#%\\ *[")
	isWrong := isFull && (scheme == "az" || b.account == "" || strings.ContainsAny(host, "@:?#%\\ "))
	switch {
	case !isName || isWrong:
		return b, fmt.Errorf("%w: name one container: must be az://container/blob or "+
			"abfss://container@account.dfs.core.windows.net/blob", store.ErrName)
	case b.host != "" && !s.isAzure(b.host) && (s.endpoint == "" || !s.isOurs(b)):
		return b, fmt.Errorf("%w: %q is not a host of Azure: must be account.dfs.core.windows.net; "+
			"set AZURE_STORAGE_ENDPOINT for another one",
			store.ErrName, b.host)
	case b.account == "" && s.endpoint == "":
		return b, errors.New("azure: the name has no account: set AZURE_STORAGE_ACCOUNT, or AZURE_STORAGE_CONNECTION_STRING, or write " +
			"abfss://container@account.dfs.core.windows.net/blob")
	}
	return b, nil
}

// isOurs tells whether a key, a SAS and an endpoint are of the account of a blob.
func (s *settings) isOurs(b blob) bool { return s.account == "" || s.account == b.account }

// mayHaveSAS tells whether a host may have the SAS. If its account is not set, only the
// first host that is asked for may: names may come from tables that others have written.
func (s *settings) mayHaveSAS(host string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == "" && s.account == "" {
		s.first = host
	}
	if s.first == "" || s.first == host {
		return nil
	}
	return fmt.Errorf("azure: the SAS of %s was used for %s first, and goes to no other host: set AZURE_STORAGE_ACCOUNT "+
		"to the account that it is of", s.from, s.first)
}

// address returns the scheme, the host and the path of a container.
func (s *settings) address(b blob) (scheme, host, path string) {
	switch {
	case s.endpoint != "" && s.isOurs(b):
		scheme, rest, _ := strings.Cut(s.endpoint, "://")
		host, path, _ = strings.Cut(rest, "/")
		if path != "" {
			path = "/" + path
		}
		return scheme, host, path + "/" + encode(b.container)
	case b.host != "":
		// Both hosts have the same blobs; this one has the API of blobs.
		return "https", strings.Replace(b.host, ".dfs.", ".blob.", 1), "/" + encode(b.container)
	}
	return "https", b.account + ".blob." + s.suffix, "/" + encode(b.container)
}

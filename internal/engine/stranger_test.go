package engine_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/ratchet-dev/ratchet/internal/test/nobody"
	"github.com/ratchet-dev/ratchet/internal/test/proctest"
)

// strangerVariable makes the test binary another user of the machine who attacks an engine.
const strangerVariable = "ENGINE_TEST_STRANGER"

// stranger is what another user of the machine can know: it is on the screen, in the table of sockets, or a guess.
type stranger struct {
	Address   string
	API       string
	Ports     []string // of all services of the engine
	DB        string
	Namespace string // id of the namespace
	Workflow  string // id of a workflow that waits for the signal word
}

// attack tries all and returns what succeeded.
func (s stranger) attack() (done []string) {
	for _, attempts := range []map[string]func() error{s.frontend(), s.services(), s.web(), s.files()} {
		for name, attempt := range attempts {
			if attempt() == nil {
				done = append(done, name)
			}
		}
	}
	slices.Sort(done)
	return done
}

// frontend calls the frontend as a client does.
func (s stranger) frontend() map[string]func() error {
	const service = "/temporal.api.workflowservice.v1.WorkflowService/"
	attempts := map[string]func() error{}
	for _, method := range []string{
		service + "GetSystemInfo", service + "ListNamespaces", service + "StartWorkflowExecution", service + "SignalWorkflowExecution",
		service + "ExecuteMultiOperation", service + "PollActivityTaskQueue", service + "NoSuchMethod",
		"/temporal.api.operatorservice.v1.OperatorService/ListClusters", "/temporal.api.operatorservice.v1.OperatorService/AddSearchAttributes",
		"/temporal.server.api.adminservice.v1.AdminService/DescribeCluster", "/grpc.health.v1.Health/Check",
	} {
		attempts["frontend "+method] = func() error { return reach(s.Address, method, insecure.NewCredentials(), &emptypb.Empty{}) }
	}
	for _, stream := range []string{"/grpc.health.v1.Health/Watch", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
		"/temporal.server.api.adminservice.v1.AdminService/StreamWorkflowReplicationMessages"} {
		attempts["frontend stream "+stream] = func() error { return reachStream(s.Address, stream) }
	}
	return attempts
}

// services calls every port of the engine as its own services do.
func (s stranger) services() map[string]func() error {
	attempts := map[string]func() error{}
	for _, address := range s.Ports {
		for name, creds := range map[string]credentials.TransportCredentials{"plain": insecure.NewCredentials(), "own certificate": ownCertificate()} {
			attempts[name+" signal by history at "+address] = func() error {
				return reach(address, "/temporal.server.api.historyservice.v1.HistoryService/SignalWorkflowExecution", creds, s.signal())
			}
			for _, method := range []string{"/temporal.server.api.matchingservice.v1.MatchingService/ListTaskQueuePartitions", "/grpc.health.v1.Health/Check",
				"/temporal.api.workflowservice.v1.WorkflowService/ListNamespaces"} {
				attempts[name+" "+method+" at "+address] = func() error { return reach(address, method, creds, &emptypb.Empty{}) }
			}
		}
	}
	return attempts
}

// signal is a request of the history service: the id of the namespace, and a request of the frontend.
func (s stranger) signal() *emptypb.Empty {
	field := func(number protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, number, protowire.BytesType), content)
	}
	execution := field(1, []byte(s.Workflow))
	payload := slices.Concat(field(1, slices.Concat(field(1, []byte("encoding")), field(2, []byte("json/plain")))), field(2, []byte(`"stranger"`)))
	request := slices.Concat(field(1, []byte("default")), field(2, execution), field(3, []byte(word)), field(4, field(1, payload)))
	m := &emptypb.Empty{}
	m.ProtoReflect().SetUnknown(slices.Concat(field(1, []byte(s.Namespace)), field(2, request)))
	return m
}

// reach returns nil if a service has looked at the call, whatever it thought of it.
func reach(address, method string, creds credentials.TransportCredentials, request *emptypb.Empty) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(creds))
	if err != nil {
		return err
	}
	defer conn.Close()
	return judge(conn.Invoke(ctx, method, request, &emptypb.Empty{}))
}

func reachStream(address, method string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err == nil {
		_ = stream.SendMsg(&emptypb.Empty{})
		_ = stream.CloseSend()
		err = stream.RecvMsg(&emptypb.Empty{})
	}
	return judge(err)
}

func judge(err error) error {
	switch status.Code(err) {
	case codes.PermissionDenied, codes.Unauthenticated, codes.Unavailable, codes.DeadlineExceeded:
		return err
	case codes.Unimplemented: // before anybody is asked: the port knows no such method
		return err
	}
	return nil
}

// ownCertificate is the TLS of somebody who makes the certificate that he needs.
func ownCertificate() credentials.TransportCredentials {
	return credentials.NewTLS(&tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{ownPair()}})
}

func ownPair() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ratchet-engine"}, DNSNames: []string{"localhost"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// web asks the HTTP API and the Web UI, in plain HTTP and by TLS.
func (s stranger) web() map[string]func() error {
	attempts := map[string]func() error{}
	signal := "/api/v1/namespaces/default/workflows/" + s.Workflow + "/signal/" + word
	for name, certificates := range map[string][]tls.Certificate{"without a certificate": nil, "with one of his own": {ownPair()}} {
		client := http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: certificates}}}
		for _, base := range []string{s.API, strings.Replace(s.API, "https:", "http:", 1)} {
			for _, path := range []string{"/", "/healthz", "/render?content=x", "/favicon.ico", "/api/v1/settings", "/api/v1/namespaces"} {
				attempts["web GET "+base+path+" "+name] = func() error { return send(client, http.MethodGet, base+path) }
			}
			attempts["web signal to "+base+" "+name] = func() error { return send(client, http.MethodPost, base+signal) }
		}
	}
	return attempts
}

// send returns nil if it is not refused.
func send(client http.Client, method, url string) error {
	request, err := http.NewRequest(method, url, strings.NewReader(`{"input": {}}`))
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s", answer.Status)
	}
	return nil
}

// files reads what the engine keeps. The superuser reads everything: he is no attacker.
func (s stranger) files() map[string]func() error {
	attempts := map[string]func() error{}
	if os.Geteuid() != nobody.ID {
		return attempts
	}
	for _, path := range []string{s.DB, s.DB + "-wal", s.DB + "-shm", s.DB + ".lock", s.DB + ".version", s.DB + ".log", filepath.Join(filepath.Dir(s.DB), "engine.pem")} {
		attempts["file "+filepath.Base(path)] = func() error {
			f, err := os.Open(path)
			if err == nil {
				_ = f.Close()
			}
			return err
		}
	}
	return attempts
}

// strangerMain is the process of the other user.
func strangerMain(told string) int {
	var s stranger
	if err := json.Unmarshal([]byte(told), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(s.attack()); err != nil {
		return 1
	}
	return 0
}

// attackAsAnother attacks from a process of another user where the tests are root's.
func (s stranger) attackAsAnother(t *testing.T) (done []string) {
	t.Helper()
	told, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), strangerVariable+"="+string(told))
	if os.Geteuid() == 0 {
		dir, err := os.MkdirTemp("", "s") // that of the test lies in one of root's own
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		cmd.Path = filepath.Join(dir, "stranger")
		b, err := os.ReadFile(os.Args[0])
		if err == nil {
			err = proctest.WriteProgram(cmd.Path, b)
		}
		if err == nil {
			err = os.Chmod(dir, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody.ID, Gid: nobody.ID}}
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &done)
	}
	if err != nil {
		t.Fatalf("the stranger: %v\n%s%s", err, out, errs.String())
	}
	return done
}

package git

import "context"

// ReadFiles reads an object without a git, for the tests that count what is read so.
func (o *Objects) ReadFiles(id ID) (Object, error) { return o.readFiles(id) }

// StoreFiles stores a pack without a git.
func (r Repo) StoreFiles(p *Pack) error { return r.storeLoose(p) }

// StoreByGit stores a pack through git.
func (r Repo) StoreByGit(ctx context.Context, p *Pack) error { return r.unpack(ctx, p) }

// The parts of Store and Read that tests call.
var (
	StoresPlainly = Repo.storesPlainly
	ApplyDelta    = applyDelta
	Compress      = compress
)

package change

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"slipway.dev/slipway/internal/slipway"
	"slipway.dev/slipway/internal/store"
)

// maxKey is the longest idempotency key; a UUID has 36 characters.
const maxKey = 200

// request tells one idempotent request from another.
type request struct {
	caller    slipway.Caller
	key       string // empty: not idempotent
	operation string // deploy: a key used for one operation is no answer to another
	input     any    // what makes two requests the same; never a password or a secret
}

// once runs f in a transaction, and keeps its answer under the caller's key there. The
// same key with the same input gives the first answer again, without running f; with other
// input it is a conflict. f is committed at most once.
func once[T any](ctx context.Context, s *store.Store, r request, f func(tx *store.Tx) (T, error)) (answer T, replayed bool, err error) {
	if err := checkKey(r.key); err != nil {
		return answer, false, err
	}
	if r.key == "" || r.caller.UserID == 0 { // Slipway itself has no keys to keep
		err = s.InTx(ctx, func(tx *store.Tx) (err error) {
			answer, err = f(tx)
			return err
		})
		return answer, false, err
	}
	hash, err := r.hash()
	if err != nil {
		return answer, false, err
	}
	err = s.InTx(ctx, func(tx *store.Tx) error {
		if replayed, err = found(ctx, tx, r, hash, &answer); err != nil || replayed {
			return err
		}
		if answer, err = f(tx); err != nil {
			return err
		}
		b, err := json.Marshal(answer)
		if err != nil {
			return fmt.Errorf("keep the answer under an idempotency key: %w", err)
		}
		return tx.IdempotencySave(ctx, store.Idempotency{UserID: r.caller.UserID, Key: r.key, InputHash: hash, Answer: b})
	})
	if !slipway.Is(err, slipway.Conflict) {
		return answer, replayed, err
	}
	// The conflict may be with an equal request that ran at the same moment. Whatever it was
	// that we collided over, that request has committed it together with its answer.
	conflict := err
	err = s.Read(ctx, func(tx *store.Tx) (err error) {
		replayed, err = found(ctx, tx, r, hash, &answer)
		return err
	})
	if err != nil || replayed {
		return answer, replayed, err
	}
	var zero T
	return zero, false, conflict
}

func found[T any](ctx context.Context, tx *store.Tx, r request, hash string, answer *T) (bool, error) {
	i, err := tx.IdempotencyFind(ctx, r.caller.UserID, r.key)
	switch {
	case slipway.Is(err, slipway.NotFound):
		return false, nil
	case err != nil:
		return false, err
	case i.InputHash != hash:
		return false, slipway.Errorf(slipway.Conflict, "this idempotency key was used for another request").
			WithHint("use a new key for a new request")
	}
	if err := json.Unmarshal(i.Answer, answer); err != nil {
		return false, fmt.Errorf("read the answer under an idempotency key: %w", err)
	}
	return true, nil
}

func (r request) hash() (string, error) {
	b, err := json.Marshal(r.input)
	if err != nil {
		return "", fmt.Errorf("hash a request: %w", err)
	}
	// Who sees less must not be shown an answer that the same user got by another token.
	scope := r.caller.Project + "/" + r.caller.Environment
	sum := sha256.Sum256(append([]byte(r.operation+"\x00"+scope+"\x00"), b...))
	return hex.EncodeToString(sum[:]), nil
}

func checkKey(key string) error {
	if len(key) > maxKey {
		return invalid("Idempotency-Key", fmt.Sprintf("it has %d characters; at most %d are allowed", len(key), maxKey), "use a UUID")
	}
	for _, c := range []byte(key) {
		if c < 0x21 || c > 0x7e {
			return invalid("Idempotency-Key", "it holds a blank or a character that is not plain ASCII", "use a UUID")
		}
	}
	return nil
}

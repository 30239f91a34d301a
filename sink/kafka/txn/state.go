package txn

import (
	"encoding/json"
	"fmt"
)

// stateVersion is the form of Encode.
const stateVersion = 1

// state is what a checkpoint holds.
type state struct {
	Version int           `json:"version"`
	Pending []Committable `json:"pending"`
}

// Encode returns the bytes of prepared transactions for a checkpoint.
func Encode(pending []Committable) ([]byte, error) {
	b, err := json.Marshal(state{Version: stateVersion, Pending: pending})
	if err != nil {
		return nil, fmt.Errorf("kafka: encoding prepared transactions: %w", err)
	}
	return b, nil
}

// Decode returns what was encoded; no bytes are nothing prepared.
func Decode(b []byte) ([]Committable, error) {
	if len(b) == 0 {
		return nil, nil
	}
	var s state
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("kafka: the checkpoint's prepared transactions can't be read: %w", err)
	}
	if s.Version != stateVersion {
		return nil, fmt.Errorf("kafka: the checkpoint's prepared transactions have form %d, this program knows form %d (start it with the program that wrote them)", s.Version, stateVersion)
	}
	for _, c := range s.Pending {
		if c.ID == "" || c.Version != V1 && c.Version != V2 {
			return nil, fmt.Errorf("kafka: the checkpoint's prepared transactions can't be read: %s", c)
		}
	}
	return s.Pending, nil
}

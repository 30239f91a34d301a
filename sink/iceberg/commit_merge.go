package iceberg

import (
	"fmt"

	iceberggo "github.com/apache/iceberg-go"
)

// Defaults of Iceberg's table properties for merging manifests.
const (
	defaultMinMerge     = 100
	defaultManifestSize = 8 << 20
)

// merge keeps the number of manifests bounded: without it, each checkpoint adds
// one or two, and every reader opens all of them. When enough small ones of a kind have come
// together they become one, whose files count as existing.
func (b *snapshotBuilder) merge(manifests []iceberggo.ManifestFile) ([]iceberggo.ManifestFile, error) {
	props := b.meta.Properties()
	if !props.GetBool(propMergeEnabled, true) {
		return manifests, nil
	}
	minCount := max(2, props.GetInt(propMinMerge, defaultMinMerge))
	limit := int64(props.GetInt(propManifestSize, defaultManifestSize)) / 2

	kind := func(m iceberggo.ManifestFile) string {
		return fmt.Sprintf("%d/%d", m.ManifestContent(), m.PartitionSpecID())
	}
	small := map[string][]iceberggo.ManifestFile{}
	for _, m := range manifests {
		if m.Length() < limit {
			small[kind(m)] = append(small[kind(m)], m)
		}
	}
	var out []iceberggo.ManifestFile
	done := map[string]bool{}
	for _, m := range manifests {
		group := small[kind(m)]
		if m.Length() >= limit || len(group) < minCount {
			out = append(out, m)
			continue
		}
		if done[kind(m)] {
			continue
		}
		done[kind(m)] = true
		merged, err := b.rewrite(group, (*iceberggo.ManifestWriter).Existing)
		if err != nil {
			return nil, err
		}
		if merged != nil {
			out = append(out, merged)
		}
	}
	return out, nil
}

"""The kopf side of the runtime benches: what test/bench/muster/gadget.ts does, as kopf's users would write it."""

from datetime import datetime, timezone

import kopf

KIND = ("bench.muster.io", "v1", "gadgets")


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_):
    settings.persistence.finalizer = "bench.muster.io/gadget"
    settings.posting.enabled = False


@kopf.on.resume(*KIND)
@kopf.on.create(*KIND)
@kopf.on.update(*KIND)
async def serve(meta, spec, status, patch, **_):
    generation = meta["generation"]
    if status.get("observedGeneration") == generation:
        return
    before = next(iter(status.get("conditions", [])), {})
    patch.status["observedGeneration"] = generation
    patch.status["conditions"] = [
        {
            "type": "Ready",
            "status": "True",
            "reason": "Served",
            "message": f"size {spec['size']}",
            "observedGeneration": generation,
            "lastTransitionTime": before.get("lastTransitionTime")
            or datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
    ]


@kopf.on.delete(*KIND)
async def release(**_):
    """Nothing to clean up: kopf takes its finalizer off when this returns."""

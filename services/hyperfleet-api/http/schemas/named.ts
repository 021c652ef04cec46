import { ArchivedResource, ArchivePurge, ForceDelete, Purged } from './archive.ts'
import {
  Claim,
  ClaimSettings,
  Consumer,
  ConsumerSettings,
  DeadLetter,
  Event,
  EventDraft,
  ReceiptPatch,
} from './event.ts'
import { DeletionPreview, Explanation } from './explanation.ts'
import { Kind } from './kind.ts'
import { Problem } from './problem.ts'
import { AdapterReport, AdapterStatus, LoggedReport } from './report.ts'
import { AnyResourceDraft, Condition, Resource, ResourceDraft, ResourcePatch } from './resource.ts'

/** Every shape that goes over the wire by a name; the OpenAPI document has them. */
export const NAMED_SCHEMAS = [
  Condition,
  Resource,
  ResourceDraft,
  AnyResourceDraft,
  ResourcePatch,
  AdapterReport,
  AdapterStatus,
  LoggedReport,
  EventDraft,
  Event,
  ConsumerSettings,
  Consumer,
  ClaimSettings,
  ReceiptPatch,
  Claim,
  DeadLetter,
  ForceDelete,
  ArchivedResource,
  ArchivePurge,
  Purged,
  Explanation,
  DeletionPreview,
  Kind,
  Problem,
] as const

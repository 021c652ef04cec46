import Type from 'typebox'
import { Generation, Open, orNull, Time } from './values.ts'

const ReportedCondition = Type.Object({
  type: Type.String({ minLength: 1, maxLength: 255 }),
  status: Type.Enum(['True', 'False', 'Unknown']),
  reason: orNull(Type.String()),
  message: orNull(Type.String()),
})

/** An adapter's name. */
export const Adapter = Type.String({ minLength: 1, maxLength: 255 })

/** Other keys are dropped, as the Go service does. */
export const ReportMetadata = Type.Object({
  job_name: orNull(Type.String()),
  job_namespace: orNull(Type.String()),
  attempt: orNull(Type.Integer()),
  started_time: orNull(Type.String()),
  completed_time: orNull(Type.String()),
  duration: orNull(Type.String()),
})

export const AdapterReport = Type.Object(
  {
    adapter: Adapter,
    observed_generation: Generation,
    observed_time: orNull(Type.String({ description: 'RFC 3339; the time of the request when absent.' })),
    conditions: Type.Array(ReportedCondition, { description: 'Available, Applied and Health are mandatory.' }),
    data: orNull(Open),
    metadata: orNull(ReportMetadata),
  },
  { $id: 'AdapterReport' },
)

export const AdapterStatus = Type.Object(
  {
    adapter: Type.String(),
    observed_generation: Generation,
    conditions: Type.Array(
      Type.Object({
        type: Type.String(),
        status: ReportedCondition.properties.status,
        reason: Type.Optional(Type.String()),
        message: Type.Optional(Type.String()),
        last_transition_time: Time,
      }),
    ),
    data: Open,
    metadata: Type.Optional(Open),
    created_time: Time,
    last_report_time: Time,
    latest_report: Type.Optional(
      Type.Object(
        { observed_generation: Generation, observed_time: Time, conditions: Type.Array(ReportedCondition) },
        {
          description:
            'The newest report, when it said Available=Unknown: of it is all but Available, Applied, Finalized and the two fields of the same names.',
        },
      ),
    ),
  },
  { $id: 'AdapterStatus' },
)

export const LoggedReport = Type.Object(
  {
    received_time: Time,
    reason: Type.String({ description: 'Why the report was not aggregated.' }),
    report: Type.Ref('AdapterReport'),
  },
  { $id: 'LoggedReport' },
)

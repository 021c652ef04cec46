import { JetStreamApiCodes, JetStreamApiError, type JetStreamManager, type StreamInfo } from '@nats-io/jetstream'
import { streamOf } from './kv-subjects.ts'

/** The stream that holds a bucket; undefined when there is none. @throws what NATS answers */
export const findStream = async (manager: JetStreamManager, bucket: string): Promise<StreamInfo | undefined> => {
  try {
    return await manager.streams.info(streamOf(bucket))
  } catch (error) {
    if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return undefined
    throw error
  }
}

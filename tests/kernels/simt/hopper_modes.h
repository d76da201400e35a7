// How the kernels of hopper.cu are misused: shared by them and their tests.
#pragma once

enum PipelineMode {
  pipeline_right,
  consumers_do_not_wait,
  producer_does_not_wait,
  nothing_is_given_back,
  no_barriers_made,
  copy_is_not_aligned,
  too_few_bytes_expected,
  copy_beyond_shared_memory,
  copy_from_nowhere
};
enum ProductsMode {
  products_right,
  weights_overwritten,
  another_descriptor,
  not_waited_for,
  a_warp_is_missing,
  no_fence
};
enum BoxMode { box_right, box_overwritten };
enum HandOverMode { hand_over_right, other_numbers, nobody_arrives };
